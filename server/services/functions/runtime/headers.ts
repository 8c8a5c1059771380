// Headers that belong to one connection, which are not passed on. https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1

type Header = readonly [name: string, value: string]

const ofConnection = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Pairs of a list in which names and values alternate, as Node's `rawHeaders`. */
export const headerPairs = (raw: readonly string[]): Header[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[2 * index] ?? '', raw[2 * index + 1] ?? ''])

/** The headers that concern the message and not its connection: neither the known ones nor those that `connection` lists. */
export function messageHeaders(headers: readonly Header[]): Header[] {
  const listed = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((name) => name.trim().toLowerCase()))
  const excluded = new Set([...ofConnection, ...listed])
  return headers.filter(([name]) => !excluded.has(name.toLowerCase()))
}
