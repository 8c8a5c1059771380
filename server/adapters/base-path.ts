// The path that the REST API is mounted at.

/**
 * A mount path as adapters compare it: without a slash at its end, empty for the root.
 *
 * @throws TypeError when it does not begin with a slash, or has a query string
 */
export function basePathOf(path = '/'): string {
  if (!/^\/[^?#]*$/.test(path)) {
    throw new TypeError(`basePath is ${JSON.stringify(path)}, but must begin with a slash, as in "/rest/v1"`)
  }
  return path.replace(/\/+$/, '')
}

/** Whether a request target lies at or below a mount path (see `basePathOf`). */
export function isBelow(target: string, basePath: string): boolean {
  if (basePath === '') return true
  if (!target.startsWith(basePath)) return false
  const next = target[basePath.length]
  return next === undefined || next === '/' || next === '?'
}
