// Texts that are costly for parsers, in any size: repeated signs, nesting, separators, quotes, escapes, many members.

/** A text of about some number of characters. */
export type Shape = { readonly name: string; readonly make: (size: number) => string }

const repeated = (unit: string, size: number): string => unit.repeat(Math.max(1, Math.floor(size / unit.length)))

/** A text between two others. */
const within = (before: string, unit: string, after: string): Shape['make'] => {
  return (size) => before + repeated(unit, Math.max(unit.length, size - before.length - after.length)) + after
}

/** Nested signs: as many that open as that close. */
const nested = (open: string, inner: string, close: string): Shape['make'] => {
  return (size) => {
    const depth = Math.max(1, Math.floor((size - inner.length) / (open.length + close.length)))
    return open.repeat(depth) + inner + close.repeat(depth)
  }
}

const signs = '( ) [ ] { } < > , ; : . = & | ! * - + / \\ " \' ` ~ ^ % # @ $ ? _'.split(' ')

const repeatedSigns: readonly Shape[] = signs.map((sign) => ({
  name: `many ${sign}`,
  make: (size) => repeated(sign, size),
}))

const makers: Readonly<Record<string, Shape['make']>> = {
  letters: (size) => repeated('a', size),
  digits: (size) => repeated('7', size),
  spaces: (size) => repeated(' ', size),
  tabs: (size) => repeated('\t', size),
  'line feeds': (size) => repeated('\n', size),
  'carriage returns': (size) => repeated('\r\n', size),
  zeros: (size) => repeated('\0', size),
  combining: (size) => `a${repeated('\u0301', size / 2)}`,
  astral: (size) => repeated('😀', size / 2),
  'invalid UTF-8': (size) => repeated('%ff', size),
  'escaped percent': (size) => repeated('%25', size),
  'escaped separators': (size) => repeated('%2C%28%29', size),
  'escaped slashes': (size) => repeated('%2F..', size),
  'dots and slashes': (size) => repeated('../', size),
  'escaped quotes': within('"', '\\"', '"'),
  backslashes: within('"', '\\\\', '"'),
  'escaped characters': within('"', '\\u0041', '"'),
  'lone surrogates': within('"', '\\ud800', '"'),
  'doubled quotes': within('"', '""', '"'),
  'unclosed quote': (size) => `"${repeated('a', size)}`,
  'quoted values': (size) => repeated('"a",', size),
  'nested parentheses': nested('(', 'a', ')'),
  'nested brackets': nested('[', '', ']'),
  'nested objects': nested('{"a":', '1', '}'),
  'empty objects': within('[', '{},', '{}]'),
  'many members': (size) => {
    const count = Math.max(1, Math.floor(size / 12))
    return `{${Array.from({ length: count }, (_, at) => `"k${at}":${at}`).join(',')}}`
  },
  'nested logic': nested('and(', 'id.eq.1', ')'),
  'nested embeds': nested('owner(', 'id', ')'),
  'negated conditions': (size) => `${repeated('not.', size)}eq.1`,
  conditions: (size) => `(${repeated('id.eq.1,', size)}id.eq.1)`,
  parameters: (size) => repeated('id=eq.1&', size),
  'parameters of many names': (size) => {
    const count = Math.max(1, Math.floor(size / 12))
    return Array.from({ length: count }, (_, at) => `a${at}=eq.1`).join('&')
  },
  list: (size) => `in.(${repeated('1,', size)}1)`,
  'json path': (size) => `data${repeated('->a', size)}`,
  'json path of text': (size) => `data${repeated('->>0', size)}`,
  columns: (size) => repeated('id,', size),
  casts: (size) => `id${repeated('::text', size)}`,
  'deep names': (size) => repeated('a.', size),
  'dotted orders': (size) => repeated('id.desc.nullslast,', size),
  qualities: (size) => repeated('text/csv;q=0.1,', size),
  'media types': (size) => repeated('a/b,', size),
  cookies: (size) => repeated('a=b; ', size),
  tags: (size) => repeated('"a", ', size),
  ranges: (size) => `bytes=${repeated('0-1,', size)}`,
  preferences: (size) => repeated('count=exact, ', size),
  'token of dots': (size) => repeated('e30.', size),
  token: (size) => `e30.${repeated('eyJhIjoxfQ', size)}.a`,
  'long number': (size) => `1${repeated('0', size)}`,
  'long fraction': (size) => `0.${repeated('1', size)}`,
  'long exponent': (size) => `1e${repeated('9', size)}`,
  'minus one': (size) => repeated('-1', size),
  base64: (size) => repeated('QUJD', size),
  references: (size) => repeated('${a#/b}', size),
  'reference signs': (size) => repeated('${', size),
  wildcards: (size) => repeated('*a', size),
  addresses: (size) => repeated('203.0.113.7, ', size),
}

/** All shapes: some signs, and what is made of them. */
export const shapes: readonly Shape[] = [
  ...Object.entries(makers).map(([name, make]) => ({ name, make })),
  ...repeatedSigns,
]

const pairs = (unit: string): Shape['make'] => within('[', `${unit},`, `${unit}]`)

/** JSON documents. The names are those of the test's table. */
export const jsonShapes: readonly Shape[] = [
  { name: 'empty objects', make: pairs('{}') },
  { name: 'empty arrays', make: pairs('[]') },
  { name: 'rows', make: pairs('{"name":"a"}') },
  { name: 'rows of different keys', make: within('[{"name":"a"}', ',{"data":1,"name":"a"}', ']') },
  { name: 'rows with a key twice', make: pairs('{"name":"a","name":"b"}') },
  { name: 'numbers', make: pairs('0') },
  { name: 'nulls', make: pairs('null') },
  { name: 'strings', make: pairs('""') },
  { name: 'a large string', make: within('{"name":"', 'a', '"}') },
  { name: 'a string of escapes', make: within('{"name":"', '\\u0041', '"}') },
  { name: 'a string of surrogates', make: within('{"name":"', '\\ud83d\\ude00', '"}') },
  { name: 'a string of backslashes', make: within('{"name":"', '\\\\', '"}') },
  { name: 'a value of brackets', make: (size) => `{"name":${nested('[', '', ']')(size - 10)}}` },
  { name: 'a value of objects', make: (size) => `{"data":${nested('{"a":', '1', '}')(size - 10)}}` },
  { name: 'a value of empty objects', make: (size) => `{"data":${pairs('{}')(size - 10)}}` },
  { name: 'related rows', make: (size) => `{"name":"a","parts":${pairs('{"name":"b"}')(size - 30)}}` },
  { name: 'related rows of brackets', make: (size) => `{"name":"a","parts":[{"name":${nested('[', '', ']')(size)}}]}` },
  {
    name: 'nested related rows',
    make: (size) => {
      const depth = Math.min(240, Math.max(1, Math.floor(size / 40)))
      const filler = repeated('[],', size / 2)
      const open = '{"name":"a","parts":[{"name":"a","owner":'
      return `${open.repeat(depth)}{"name":[${filler}[]]}${'}]}'.repeat(depth)}`
    },
  },
  { name: 'brackets', make: nested('[', '', ']') },
  { name: 'unclosed brackets', make: (size) => repeated('[', size) },
  { name: 'unclosed objects', make: (size) => repeated('{"a":', size) },
  { name: 'many members', make: (size) => shapeNamed('many members').make(size) },
  { name: 'one member many times', make: within('{"name":1', ',"name":1', '}') },
  { name: 'a long name', make: within('{"', 'n', '":1}') },
  { name: 'spaces', make: within('[', ' ', ']') },
  { name: 'line feeds', make: within('{}', '\n', '') },
  { name: 'a long number', make: within('{"name":1', '0', '}') },
  { name: 'a long exponent', make: within('{"name":1e', '9', '}') },
]

export function shapeNamed(name: string): Shape {
  const shape = shapes.find((one) => one.name === name)
  if (!shape) throw new Error(`there is no shape ${name}`)
  return shape
}

/** CSV documents for the columns `name` and `data`. */
export const csvShapes: readonly Shape[] = [
  { name: 'line feeds', make: within('name,data\n', '\n', '') },
  { name: 'carriage returns', make: within('name,data\n', '\r', '') },
  { name: 'commas', make: within('name,data\n', ',', '\n') },
  { name: 'a header of commas', make: within('', ',', '\na\n') },
  { name: 'rows', make: within('name,data\n', 'a,1\n', '') },
  { name: 'empty rows', make: within('name,data\n', ',\n', '') },
  { name: 'long names', make: (size) => `${repeated('n', size / 2)},data\n${repeated(',\n', size / 2)}` },
  { name: 'quotes', make: within('name,data\n"', '""', '",1\n') },
  { name: 'quoted rows', make: within('name,data\n', '"a","1"\n', '') },
  { name: 'an unclosed quote', make: within('name,data\n"', 'a\n', '') },
  { name: 'a late fault', make: within('name,data\n', 'a,1\n', 'a"') },
  { name: 'rows of two lengths', make: within('name,name,name\n', 'a\na,b\n', '') },
]

export const ndjsonShapes: readonly Shape[] = [
  { name: 'empty objects', make: (size) => repeated('{}\n', size) },
  { name: 'line feeds', make: (size) => repeated('\n', size) },
  { name: 'rows', make: (size) => repeated('{"name":"a"}\n', size) },
  { name: 'a line of brackets', make: (size) => `{"name":${nested('[', '', ']')(size - 10)}}\n` },
  { name: 'an unclosed line', make: (size) => `{"name":"${repeated('a', size)}` },
  { name: 'a line of empty objects', make: (size) => `{"data":${pairs('{}')(size - 10)}}\n` },
]

export const formShapes: readonly Shape[] = [
  { name: 'separators', make: (size) => repeated('&', size) },
  { name: 'names', make: (size) => repeated('name&', size) },
  { name: 'pairs', make: (size) => repeated('name=a&', size) },
  { name: 'escapes', make: within('name=', '%25', '') },
  { name: 'equal signs', make: within('name', '=', '') },
  { name: 'plus signs', make: within('name=', '+', '') },
]

/** Boundary of the multipart bodies. */
export const boundary = 'x'
const field = (name: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const end = `--${boundary}--\r\n`

export const multipartShapes: readonly Shape[] = [
  { name: 'fields', make: within('', field('a', ''), end) },
  { name: 'a large field', make: (size) => field('a', repeated('b', size)) + end },
  { name: 'boundaries', make: within('', `--${boundary}\r\n`, end) },
  { name: 'hyphens', make: within(`--${boundary}\r\n\r\n`, '\r\n--', end) },
  {
    name: 'many headers',
    make: (size) => `--${boundary}\r\n${repeated('A: b\r\n', size)}\r\nvalue\r\n${end}`,
  },
  {
    name: 'a long header',
    make: (size) => `--${boundary}\r\nContent-Disposition: form-data; name="${repeated('a', size)}"\r\n\r\nv\r\n${end}`,
  },
  {
    name: 'a header of parameters',
    make: (size) => `--${boundary}\r\nContent-Disposition: form-data${repeated('; a=b', size)}\r\n\r\nv\r\n${end}`,
  },
  {
    name: 'files',
    make: within(
      '',
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: image/png\r\n\r\n\r\n`,
      end,
    ),
  },
  { name: 'an unclosed field', make: (size) => field('a', '') + repeated('-', size) },
]

const masked = (first: number, payload: string): string => {
  const { length } = payload
  const size =
    length < 126
      ? String.fromCharCode(0x80 | length)
      : length < 65_536
        ? String.fromCharCode(0xfe, length >> 8, length & 0xff)
        : String.fromCharCode(0xff, 0, 0, 0, 0, ...[24, 16, 8, 0].map((bits) => (length >>> bits) & 0xff))
  return `${String.fromCharCode(first)}${size}\0\0\0\0${payload}`
}

/** Bytes of a WebSocket client, one character for each. */
export const socketShapes: readonly Shape[] = [
  { name: 'empty messages', make: (size) => repeated(masked(0x81, ''), size) },
  { name: 'empty binary messages', make: (size) => repeated(masked(0x82, ''), size) },
  { name: 'messages of a sign', make: (size) => repeated(masked(0x81, '{'), size) },
  { name: 'frames without an image', make: (size) => repeated(masked(0x81, '{"frame_id":1}'), size) },
  { name: 'frames that are no images', make: (size) => repeated(masked(0x81, '{"image_base64":"A"}'), size) },
  { name: 'pings', make: (size) => repeated(masked(0x89, ''), size) },
  { name: 'pongs', make: (size) => repeated(masked(0x8a, ''), size) },
  { name: 'empty fragments', make: (size) => masked(0x01, '') + repeated(masked(0x00, ''), size) },
  { name: 'messages of two fragments', make: (size) => repeated(masked(0x01, '') + masked(0x80, ''), size) },
  ...jsonShapes.map(({ name, make }) => ({
    name: `a message: ${name}`,
    make: (size: number) => masked(0x81, make(size)),
  })),
  {
    name: 'a large image',
    make: (size) => masked(0x81, `{"image_base64":"${repeated('QUJD', size)}"}`),
  },
]
