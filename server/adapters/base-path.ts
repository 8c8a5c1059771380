// The mount path of the REST API.

/**
 * Normalises a mount path for comparison: no trailing slash, empty for the root.
 *
 * @throws TypeError when it does not begin with a slash, contains `?` or `#`, or is written as no client writes the path of
 *   a URL: `/café`, `/a b`, `/a/../b`
 */
export function basePathOf(path = '/'): string {
  if (!/^\/[^?#]*$/.test(path)) {
    throw new TypeError(`basePath is ${JSON.stringify(path)}, but must begin with a slash, as in "/rest/v1"`)
  }
  const { pathname } = new URL(`http://localhost${path}`)
  if (pathname !== path) {
    throw new TypeError(
      `basePath is ${JSON.stringify(path)}, but must be written as in a URL: ${JSON.stringify(pathname)}`,
    )
  }
  return path.replace(/\/+$/, '')
}

/** Whether a request target is at or below a mount path normalised by `basePathOf`. */
export function isBelow(target: string, basePath: string): boolean {
  if (basePath === '') return true
  if (!target.startsWith(basePath)) return false
  const next = target[basePath.length]
  return next === undefined || next === '/' || next === '?'
}
