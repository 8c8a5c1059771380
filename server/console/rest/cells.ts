// Rows as the text of their JSON, so that no digit of a number is lost: 9007199254740993 stays what it is.

/** The JSON text of each column's value. */
export type Row = ReadonlyMap<string, string>

/** What decides how a value is shown and edited: a part of `ColumnDetails`. */
export type CellType = {
  readonly baseType: string
  readonly isArray: boolean
  readonly category: string
}

const space = /\s/

function skipSpace(text: string, at: number): number {
  while (space.test(text.charAt(at))) at += 1
  return at
}

function endOfString(text: string, at: number): number {
  for (let end = at + 1; ; end += 1) {
    const character = text.charAt(end)
    if (character === '\\') end += 1
    else if (character === '"') return end + 1
    else if (character === '') throw new SyntaxError('The response is not JSON')
  }
}

function endOfValue(text: string, at: number): number {
  let depth = 0
  for (let end = at; ;) {
    const character = text.charAt(end)
    if (character === '') throw new SyntaxError('The response is not JSON')
    if (character === '"') {
      end = endOfString(text, end)
      if (depth === 0) return end
      continue
    }
    if (
      depth === 0 &&
      end > at &&
      (character === ',' || character === '}' || character === ']' || space.test(character))
    ) {
      return end
    }
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    end += 1
    if (depth === 0 && (character === '}' || character === ']')) return end
  }
}

/**
 * Reads an array of objects.
 *
 * @throws SyntaxError
 */
export function parseRows(text: string): readonly Row[] {
  const rows: Row[] = []
  let at = skipSpace(text, 0)
  if (text.charAt(at) !== '[') throw new SyntaxError('The response is not a list of rows')
  at = skipSpace(text, at + 1)
  while (text.charAt(at) !== ']') {
    const [row, end] = parseRow(text, at)
    rows.push(row)
    at = skipSpace(text, end)
    if (text.charAt(at) === ',') at = skipSpace(text, at + 1)
  }
  return rows
}

function parseRow(text: string, start: number): readonly [row: Row, end: number] {
  if (text.charAt(start) !== '{') throw new SyntaxError('A row is not an object')
  const row = new Map<string, string>()
  let at = skipSpace(text, start + 1)
  while (text.charAt(at) !== '}') {
    const nameEnd = endOfString(text, at)
    const name = JSON.parse(text.slice(at, nameEnd)) as string
    at = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const valueEnd = endOfValue(text, at)
    row.set(name, text.slice(at, valueEnd))
    at = skipSpace(text, valueEnd)
    if (text.charAt(at) === ',') at = skipSpace(text, at + 1)
  }
  return [row, at + 1]
}

export const isNull = (json: string | undefined): boolean => json === undefined || json === 'null'

const isJson = ({ baseType }: CellType): boolean => baseType === 'json' || baseType === 'jsonb'

/** Whether the value is edited as JSON: documents and arrays. */
export const isStructured = (type: CellType): boolean => type.isArray || isJson(type)

/** What is shown of a value, and edited; empty for null. */
export function textOf(json: string | undefined, type?: CellType): string {
  if (json === undefined || json === 'null') return ''
  return json.startsWith('"') && !(type && isJson(type)) ? (JSON.parse(json) as string) : json
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * The JSON of a text that was typed.
 *
 * @throws SyntaxError when a document is not JSON
 */
export function jsonOf(text: string, type: CellType): string {
  const trimmed = text.trim()
  // PostgreSQL reads its own notation of arrays from a string.
  if (type.isArray && trimmed.startsWith('{')) return JSON.stringify(trimmed)
  if (isStructured(type)) {
    JSON.parse(trimmed)
    return trimmed
  }
  if (type.category === 'B' && (trimmed === 'true' || trimmed === 'false')) return trimmed
  return type.category === 'N' && number.test(trimmed) ? trimmed : JSON.stringify(text)
}

/** The JSON object of some columns. */
export const objectOf = (values: Iterable<readonly [name: string, json: string]>): string =>
  `{${Array.from(values, ([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`

/** A document with line breaks, for people. Numbers keep their digits. */
export function prettyJson(json: string): string {
  let indent = ''
  let result = ''
  for (let at = 0; at < json.length;) {
    const character = json.charAt(at)
    if (character === '"') {
      const end = endOfString(json, at)
      result += json.slice(at, end)
      at = end
      continue
    }
    at += 1
    if (space.test(character)) continue
    const closes = character === '{' ? '}' : ']'
    if ((character === '{' || character === '[') && json.charAt(skipSpace(json, at)) === closes) {
      result += `${character}${closes}`
      at = skipSpace(json, at) + 1
    } else if (character === '{' || character === '[') {
      indent += '  '
      result += `${character}\n${indent}`
    } else if (character === '}' || character === ']') {
      indent = indent.slice(2)
      result += `\n${indent}${character}`
    } else if (character === ',') result += `,\n${indent}`
    else result += character === ':' ? ': ' : character
  }
  return result
}
