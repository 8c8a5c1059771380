// Parses what is to be explained: a method and a path, as in a log or a test, with a body and headers as curl takes them.
import { CommandError } from '../command-line/command-error.ts'
import type { OfflineRequest } from './offline.ts'

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'])

export type RequestWish = {
  /** Such as `GET /rest/v1/tasks?select=*`; without a method, GET, or POST with a body. */
  readonly line: string
  readonly data: Buffer | undefined
  /** `Name: value` each. */
  readonly headers: readonly string[]
}

/**
 * @param basePath mount path of the REST API, which the line may contain
 * @throws CommandError saying what is wrong
 */
export function parseRequest({ line, data, headers }: RequestWish, basePath: string): OfflineRequest {
  const [, first, rest = ''] = /^\s*(?:([A-Za-z]+)\s+)?(\S.*?)\s*$/s.exec(line) ?? []
  const method = first?.toUpperCase() ?? (data ? 'POST' : 'GET')
  if (!methods.has(method)) {
    throw new CommandError(`The method ${method} cannot be explained: allowed are ${[...methods].join(', ')}.`)
  }
  const path = /^https?:\/\/[^/]*(\/.*)$/is.exec(rest)?.[1] ?? rest
  if (!path.startsWith('/')) {
    throw new CommandError('A request is a method and a path, such as "GET /rest/v1/tasks?select=*".')
  }
  const base = basePath === '/' ? '' : basePath
  const isBelow = base !== '' && (path === base || path.startsWith(`${base}/`) || path.startsWith(`${base}?`))
  const below = isBelow ? path.slice(base.length) : path
  const given = headers.map(parseHeader)
  const isTyped = given.some(([name]) => name === 'content-type')
  return {
    method,
    target: encoded(below.startsWith('/') ? below : `/${below}`),
    headers: data && !isTyped ? [...given, ['content-type', 'application/json']] : given,
    body: data ?? Buffer.alloc(0),
  }
}

/** Encodes what a client would: blanks, quotes, and characters beyond ASCII. */
const encoded = (target: string): string => target.replace(/[^!#-;=?-[\]_a-z|~^`{}\\]/gu, percentEncoded)

function parseHeader(text: string): readonly [string, string] {
  const [, name, value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*?)\s*$/s.exec(text) ?? []
  if (name === undefined || /[\r\n\0]/.test(value)) {
    throw new CommandError('A header is a name and a value, such as -H "Prefer: return=representation".')
  }
  // Header values have one character per byte.
  return [name.toLowerCase(), Buffer.from(value).toString('latin1')]
}

const percentEncoded = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
