// What SQL and PL/pgSQL call and write, by their tokens.
import { identifier } from '../../text/sql-text.ts'
import { isName, tokensOf, type Token } from '../../text/sql-tokens.ts'

/** A name with its schema, if the source has one. */
export type SourceName = { readonly schema: string | null; readonly name: string }

/** The name that begins at a token, and the place after it. */
function nameAt(tokens: readonly Token[], at: number): { name: SourceName; next: number } | undefined {
  const first = tokens[at]
  if (!first || !isName(first)) return undefined
  const second = tokens[at + 2]
  if (tokens[at + 1]?.text === '.' && second && isName(second)) {
    return { name: { schema: first.text, name: second.text }, next: at + 3 }
  }
  return { name: { schema: null, name: first.text }, next: at + 1 }
}

/** The names that a parenthesis follows: calls of functions, and some keywords. */
export function callsIn(text: string): SourceName[] {
  const tokens = tokensOf(text)
  return tokens.flatMap((_, at) => {
    if (tokens[at - 1]?.text === '.') return []
    const found = nameAt(tokens, at)
    return found && tokens[found.next]?.text === '(' ? [found.name] : []
  })
}

/** The tables that INSERT, MERGE and UPDATE name. */
export function writtenTables(text: string): SourceName[] {
  const tokens = tokensOf(text)
  return tokens.flatMap(({ kind, text: word }, at) => {
    if (kind !== 'word') return []
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
  const tokens = tokensOf(text)
  const followsTable = (word: string | undefined): boolean =>
    word === 'from' || word === 'join' || word === 'into' || word === 'update'
  return (
    callsIn(text).some(({ schema, name }) => schema === null && !notFunctions.has(name)) ||
    tokens.some((token, at) => {
      if (token.kind !== 'word' || !followsTable(token.text)) return false
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
  tokensOf(text).some(({ kind, text: word }) => kind === 'word' && effects.has(word))

/**
 * Wraps calls in the text of an expression, as PostgreSQL prints it, into subqueries, which are evaluated once per
 * statement: `auth.uid()` becomes `( SELECT auth.uid())`. Leaves those that are.
 *
 * @param isWanted whether to wrap calls of a function
 */
export function wrapCalls(text: string, isWanted: (name: SourceName) => boolean): string {
  const tokens = tokensOf(text)
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
function closing(tokens: readonly Token[], open: number): number {
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
