// Splits SQL and PL/pgSQL into tokens, so that nothing in a string, comment or quoted name is taken for code.
import { identifier } from '../../text/sql-text.ts'

export type SqlToken = {
  /** `word` is an identifier or a keyword in lower case, or a quoted name; `string` the text of a literal, anything else a `symbol`. */
  readonly kind: 'word' | 'string' | 'symbol'
  readonly text: string
  readonly isQuoted: boolean
  readonly start: number
  readonly end: number
}

// https://www.postgresql.org/docs/current/sql-syntax-lexical.html
const patterns =
  /(?<space>\s+|--[^\n]*)|(?<comment>\/\*)|(?<escaped>[eE]'(?:[^'\\]|\\[^]|'')*')|(?<string>'(?:[^']|'')*')|(?<dollar>\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)|(?<quoted>"(?:[^"]|"")*")|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<number>\d[\w.]*)|(?<symbol>[^])/uy

/** The tokens of the text, without space and comments. An unfinished literal goes on to the end. */
export function sqlTokens(text: string): SqlToken[] {
  const tokens: SqlToken[] = []
  const pattern = new RegExp(patterns)
  let at = 0
  const add = (kind: SqlToken['kind'], value: string, end: number, isQuoted = false): void => {
    tokens.push({ kind, text: value, isQuoted, start: at, end })
  }
  while (at < text.length) {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    const groups = found?.groups ?? {}
    let end = at + (found?.[0].length ?? 1)
    const { escaped, string, dollar, quoted, word } = groups
    if (groups.comment !== undefined) end = endOfComment(text, end)
    else if (escaped !== undefined)
      add(
        'string',
        escaped
          .slice(2, -1)
          .replaceAll("''", "'")
          .replace(/\\([^])/g, '$1'),
        end,
      )
    else if (string !== undefined) add('string', string.slice(1, -1).replaceAll("''", "'"), end)
    else if (dollar !== undefined) {
      const close = text.indexOf(dollar, end)
      const inner = text.slice(end, close === -1 ? undefined : close)
      end = close === -1 ? text.length : close + dollar.length
      add('string', inner, end)
    } else if (quoted !== undefined) add('word', quoted.slice(1, -1).replaceAll('""', '"'), end, true)
    else if (word !== undefined) add('word', word.toLowerCase(), end)
    else if (groups.space === undefined) add('symbol', found?.[0] ?? '', end)
    at = end
  }
  return tokens
}

/** Comments of this kind nest. */
function endOfComment(text: string, start: number): number {
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  for (let depth = 1; depth > 0;) {
    const found = edge.exec(text)
    if (!found) return text.length
    depth += found[0] === '/*' ? 1 : -1
  }
  return edge.lastIndex
}

/** The statements of a text, each with its semicolon. Names and strings may contain semicolons and line breaks. */
export function statementsOf(text: string): string[] {
  const ends = sqlTokens(text).flatMap(({ kind, text: it, end }) => (kind === 'symbol' && it === ';' ? [end] : []))
  return [...ends, text.length]
    .map((end, index) => text.slice(ends[index - 1] ?? 0, end).trim())
    .filter((it) => it !== '')
}

/** A name with its schema, if the source has one. */
export type SourceName = { readonly schema: string | null; readonly name: string }

/** The name that begins at a token, and the place after it. */
export function nameAt(tokens: readonly SqlToken[], at: number): { name: SourceName; next: number } | undefined {
  const first = tokens[at]
  if (first?.kind !== 'word') return undefined
  const second = tokens[at + 2]
  if (tokens[at + 1]?.text === '.' && second?.kind === 'word') {
    return { name: { schema: first.text, name: second.text }, next: at + 3 }
  }
  return { name: { schema: null, name: first.text }, next: at + 1 }
}

/** The names that a parenthesis follows: calls of functions, and some keywords. */
export function callsIn(text: string): SourceName[] {
  const tokens = sqlTokens(text)
  return tokens.flatMap((_, at) => {
    if (tokens[at - 1]?.text === '.') return []
    const found = nameAt(tokens, at)
    return found && tokens[found.next]?.text === '(' ? [found.name] : []
  })
}

/** The tables that INSERT, MERGE and UPDATE name. */
export function writtenTables(text: string): SourceName[] {
  const tokens = sqlTokens(text)
  return tokens.flatMap(({ kind, text: word, isQuoted }, at) => {
    if (kind !== 'word' || isQuoted) return []
    const isInto = (word === 'insert' || word === 'merge') && tokens[at + 1]?.text === 'into'
    const start = isInto ? at + 2 : word === 'update' ? at + 1 : undefined
    const found = start === undefined ? undefined : nameAt(tokens, start)
    return found ? [found.name] : []
  })
}

/** Words that a parenthesis may follow although they are no functions. */
const notFunctions = new Set(
  (
    'select from where and or not in any some all exists values case when then else end on using as with over filter partition ' +
    'by order group having limit coalesce nullif greatest least row array interval distinct union except intersect returning ' +
    'if elsif loop while return begin set is like ilike between'
  ).split(' '),
)

/** Whether a body names a function, or a table after FROM, JOIN, INTO or UPDATE, without its schema. */
export function hasUnqualifiedNames(text: string): boolean {
  const tokens = sqlTokens(text)
  const followsTable = (word: string | undefined): boolean =>
    word === 'from' || word === 'join' || word === 'into' || word === 'update'
  return (
    callsIn(text).some(({ schema, name }) => schema === null && !notFunctions.has(name)) ||
    tokens.some((token, at) => {
      if (token.kind !== 'word' || token.isQuoted || !followsTable(token.text)) return false
      return nameAt(tokens, at + 1)?.name.schema === null
    })
  )
}

const effects = new Set([
  'insert',
  'update',
  'delete',
  'merge',
  'truncate',
  'create',
  'drop',
  'alter',
  'grant',
  'revoke',
  'execute',
  'call',
  'copy',
  'notify',
  'perform',
])

/** Whether a body may have effects, by its keywords. */
export const mayHaveEffects = (text: string): boolean =>
  sqlTokens(text).some(({ kind, text: word, isQuoted }) => kind === 'word' && !isQuoted && effects.has(word))

/**
 * Wraps calls in the text of an expression, as PostgreSQL prints it, into subqueries, which are evaluated once per
 * statement: `auth.uid()` becomes `( SELECT auth.uid())`. Leaves those that are.
 *
 * @param isWanted whether to wrap calls of a function
 */
export function wrapCalls(text: string, isWanted: (name: SourceName) => boolean): string {
  const tokens = sqlTokens(text)
  let [result, copied] = ['', 0]
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at - 1]?.text === '.') continue
    const found = nameAt(tokens, at)
    const [start, open] = [tokens[at], found && tokens[found.next]]
    if (!found || !start || open?.text !== '(' || !isWanted(found.name)) continue
    const close = closing(tokens, found.next)
    const end = tokens[close]?.end
    if (end === undefined) continue
    const isWrapped = tokens[at - 1]?.text === 'select' && tokens[at - 2]?.text === '('
    if (!isWrapped) {
      result += `${text.slice(copied, start.start)}( SELECT ${text.slice(start.start, end)})`
      copied = end
    }
    at = close
  }
  return result + text.slice(copied)
}

/** The place of the parenthesis that closes another. */
function closing(tokens: readonly SqlToken[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at] ?? {}
    if (kind !== 'symbol') continue
    if (text === '(') depth++
    if (text === ')' && --depth === 0) return at
  }
  return tokens.length
}

/** A name in SQL, with its schema if there is one. */
export const sourceName = ({ schema, name }: SourceName): string =>
  schema === null ? identifier(name) : `${identifier(schema)}.${identifier(name)}`
