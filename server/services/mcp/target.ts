// The path that an agent writes, as the engine takes it.
import { ToolRefusal } from './tool-refusal.ts'

export type Target = {
  /** The name of the table or view; for functions `rpc/` and its name. Percent-encoded. */
  readonly resource: string
  /** Query string without the question mark. */
  readonly query: string
}

/**
 * Splits `/tasks?done=is.false`. The mount path of the REST API may precede it.
 *
 * @throws ToolRefusal for a path that is not one of a table or function
 */
export function targetOf(path: string, restBasePath: string): Target {
  const encoded = percentEncoded(path)
  const below =
    restBasePath !== '/' && encoded.startsWith(`${restBasePath}/`) ? encoded.slice(restBasePath.length) : encoded
  const question = below.indexOf('?')
  const resource = (question < 0 ? below : below.slice(0, question)).slice(1)
  const names = resource.split('/')
  const isKnown = names.length === 1 || (names.length === 2 && names[0] === 'rpc')
  if (!below.startsWith('/') || !isKnown || names.some((name) => name === '') || /^(?:\$|%24)/i.test(resource)) {
    throw new ToolRefusal(
      `path: must be a slash and the name of a table, view or function, and may have a query string: /tasks?select=id&done=is.false or /rpc/name. Given was ${JSON.stringify(path.slice(0, 200))}`,
    )
  }
  return { resource, query: question < 0 ? '' : below.slice(question + 1) }
}

/** Encodes what a request target cannot have: control characters, spaces, quotes of fragments, and what is not ASCII. */
function percentEncoded(path: string): string {
  let encoded = ''
  for (const byte of Buffer.from(path)) {
    encoded +=
      byte > 0x20 && byte < 0x7f && byte !== 0x23
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}

/** The decoded name of a parameter; as it is if it cannot be decoded. */
function nameOf(parameter: string): string {
  const [name = ''] = parameter.split('=', 1)
  try {
    return decodeURIComponent(name.replaceAll('+', ' '))
  } catch {
    return name
  }
}

/** The parameters of a query string without those of the names. */
export const without = (query: string, names: readonly string[]): string[] =>
  query.split('&').filter((parameter) => parameter !== '' && !names.includes(nameOf(parameter)))

/**
 * A query string with a limit.
 *
 * @param most rows that may be returned
 * @returns with a limit of one more, which says whether there are more rows; or with the caller's own, if it is lower
 */
export function limitedQuery(query: string, most: number): string {
  const own = query
    .split('&')
    .filter((parameter) => nameOf(parameter) === 'limit')
    .map((parameter) => parameter.slice(parameter.indexOf('=') + 1))
  const lowest = own.filter((value) => /^\d{1,9}$/.test(value)).map(Number)
  const limit = Math.min(most + 1, ...lowest)
  return [...without(query, ['limit']), `limit=${limit}`].join('&')
}
