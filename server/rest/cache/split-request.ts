// Splits requests into shape and values. Requests that differ only in the values of their filters have the same shape,
// and therefore the same plan and statement, or the same rejection.
import { randomBytes } from 'node:crypto'
import type { HttpRequest } from '../request/api-request.ts'
import { beginsLikeFilter, isOperator } from '../request/filter.ts'
import {
  hasCursorForm,
  type PageCursor,
  type PageCursors,
  type ScopedCursor,
} from '../extensions/keyset-pages/page-cursor.ts'
import { utf8Text, parseQueryString } from '../request/query-string.ts'
import { keyPart, partKind } from './shape-key.ts'
import { isCallPath } from '../request/resource.ts'

/** How a value becomes a parameter: as it is, as a pattern of LIKE, or split at commas into an array. */
export type ValueForm = 'plain' | 'pattern' | 'list'

/** A request split into its shape and its values. */
export type SplitRequest = {
  /** Equal only for requests of the same shape. */
  readonly key: string
  /** The values, which are not part of the key. */
  readonly values: readonly string[]
  readonly forms: readonly ValueForm[]
  /** The query string with a marker in place of each value. */
  readonly template: string
  /**
   * Whether a rejection applies to all requests of the shape. It does not for logic trees: the position in a parse
   * error depends on the length of the values before it.
   */
  readonly canBeRejected: boolean
  /** The cursor of a page, as it is and with markers in place of its values. Its `cursor` in the template is another. */
  readonly cursor: { readonly opened: ScopedCursor; readonly marked: PageCursor } | undefined
}

/** The beginning of every marker. It is random, so that no request can contain it. */
const token = `v${randomBytes(16).toString('hex')}x`

/** The placeholder of a value. */
export const marker = (index: number): string => `${token}${index}z`

/** Whether a text contains a marker. */
export const hasMarker = (text: string): boolean => text.includes(token)

const markers = new RegExp(`${token}(\\d+)z`, 'g')

/** Replaces the markers in a text by their values. */
export const withValues = (text: string, values: readonly string[]): string =>
  hasMarker(text) ? text.replace(markers, (_, index: string) => values[Number(index)] ?? '') : text

const longestQuery = 2048
/** Headers that belong to the shape. */
const shapeHeaders = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'prefer',
  'range',
  // Conditions on entity tags. Those of GET apply to the response.
  'if-match',
  'if-none-match',
])

const plainName = /^[\w.>-]+$/
/** Parameters that belong to the shape as a whole, also with an embed path before them, as in `clients.order`. */
const structural = new Set(['select', 'columns', 'on_conflict', 'order', 'limit', 'offset'])
const logical = new Set(['and', 'or'])
/** An operator whose value is one parameter of the statement. */
const operator = String.raw`(?:not\.)?(?:n?eq|[gl]te?|i?like|i?match|isdistinct|c[sd]|ov|s[lr]|nx[rl]|adj|(?:p[lh]|w)?fts)\.`
const keyword = String.raw`(?:not\.)?is\.(?:null|not_null|true|false|unknown)`
const simpleFilter = new RegExp(`^${operator}`)
const keywordFilter = new RegExp(`^${keyword}$`, 'i')
const list = /^((?:not\.)?in\.)\(([\w:.-]+(?:,[\w:.-]+)*)\)$/
/** A value that needs no decoding. */
const plainValue = /^[\w .:,*-]*$/
/** A word where an operator should be. */
const firstWord = /^([A-Za-z_]+)\./
/** An argument of a function that cannot be read as a filter. */
const plainArgument = /^[\w-]*$/
/** A token of a logic tree: a parenthesis, a comma, or a condition with or without a value. */
const logicToken = new RegExp(
  String.raw`(?:(?:not\.)?(?:and|or))?\(|\)|,|([\w>-]+\.${operator})([\w:.*-]+)(?=[,)])|[\w>-]+\.${keyword}(?=[,)])`,
  'y',
)

/** An aggregate, or a field that the rows are grouped by. */
const grouped = String.raw`(?:count\(\)|[\w>-]+(?:::\w+)?(?:\.(?:sum|avg|max|min|count)\((?:distinct)?\))?)(?:::\w+)?`
/** A single condition on groups, whose value is the rest of the text. */
const singleGroupCondition = new RegExp(`^(${grouped}\\.${operator})`)
/** A token of a tree of conditions on groups, as in `or.(amount.sum().gt.100,…)`. */
const groupToken = new RegExp(
  String.raw`(?:(?:not\.)?(?:and|or)\.?)?\(|\)|,|(${grouped}\.${operator})([\w:.*-]+)(?=[,)])|${grouped}\.${keyword}(?=[,)]|$)`,
  'y',
)

const isPattern = (operator: string): boolean => operator.endsWith('like.')

/** The text before the value: an operator, or another word, for which the filter is rejected whatever its value is. */
function operatorOf(raw: string, isCall: boolean): string | undefined {
  const simple = simpleFilter.exec(raw)
  if (simple) return simple[0]
  // In a function call, a value without an operator is an argument.
  const word = isCall ? null : firstWord.exec(raw)
  return word && !isOperator(word[1] ?? '') ? word[0] : undefined
}

/** Decodes a value; undefined when it is not valid UTF-8 or contains a NUL character, which Postgres cannot store. */
function valueOf(raw: string): string | undefined {
  if (plainValue.test(raw)) return raw
  const [pair] = parseQueryString(`v=${raw}`)
  const text = pair?.[1] === undefined ? undefined : utf8Text(pair[1])
  return text?.includes('\0') ? undefined : text
}

/** Reads a request part by part, and collects its key, values and template. */
class ShapeReader {
  key: string
  readonly values: string[] = []
  readonly forms: ValueForm[] = []
  readonly template: string[] = []
  canBeRejected = true
  cursor: SplitRequest['cursor']
  readonly #cursors: PageCursors | undefined
  readonly #isCall: boolean
  /** Whether a parameter without an operator is an argument of a function. Otherwise it is an invalid filter. */
  readonly #takesArguments: boolean

  constructor({ method, path, body }: HttpRequest, cursors: PageCursors | undefined) {
    this.#cursors = cursors
    this.#isCall = isCallPath(path)
    this.#takesArguments = this.#isCall && (method === 'GET' || method === 'HEAD')
    this.key = keyPart(partKind.method, method) + keyPart(partKind.path, path)
    // A request can be rejected for a missing body, so requests with and without one have different shapes.
    if (body.length > 0) this.key += keyPart(partKind.body, '')
  }

  /** Adds a part of the query string; false when its value cannot be separated. */
  addPart(part: string): boolean {
    const end = part.indexOf('=')
    if (end < 0) return (part === '' || plainName.test(part)) && this.#addText(part)
    const name = part.slice(0, end)
    if (!plainName.test(name)) return false
    const raw = part.slice(end + 1)
    const word = name.slice(name.lastIndexOf('.') + 1)
    if (structural.has(word)) return this.#addText(part)
    if (logical.has(word)) return this.#addLogic(name, raw)
    if (word === 'having' && !beginsLikeFilter(raw)) return this.#addHaving(name, raw)
    if (word === 'distinct' && raw.startsWith('on.')) return this.#addText(part)
    return this.#addFilter(name, raw) || (keywordFilter.test(raw) && this.#addText(part)) || this.#addCursor(name, raw)
  }

  /** Adds the cursor of a page. Its values are values of the request; which ones are null determines the statement. */
  #addCursor(name: string, raw: string): boolean {
    const opened = name === 'cursor' && hasCursorForm(raw) && !this.cursor ? this.#cursors?.open(raw) : undefined
    if (!opened) return false
    const values = opened.values.map((value) => (value === null ? null : this.#mark(value, 'plain')))
    const { isBackward, isInclusive } = opened
    this.cursor = { opened, marked: { isBackward, isInclusive, values } }
    const nulls = values.map((value) => (value === null ? 'n' : 'v')).join('')
    this.key += keyPart(partKind.cursor, `${isBackward ? 'b' : 'f'}${isInclusive ? 'i' : 'x'}${nulls}`)
    this.template.push('cursor=x')
    return true
  }

  #addText(part: string): boolean {
    this.key += keyPart(partKind.text, part)
    this.template.push(part)
    return true
  }

  #addFilter(name: string, raw: string): boolean {
    const operator = operatorOf(raw, this.#isCall)
    if (operator !== undefined) {
      const value = valueOf(raw.slice(operator.length))
      if (value === undefined) return false
      this.#addValue(name, operator, this.#mark(value, isPattern(operator) ? 'pattern' : 'plain'))
      return true
    }
    const [, before, items] = list.exec(raw) ?? []
    if (before !== undefined && items !== undefined) {
      this.#addValue(name, before, `(${this.#mark(items, 'list')})`)
      return true
    }
    if (!this.#takesArguments || !plainArgument.test(raw)) return false
    if (name === 'cursor') {
      if (this.#addCursor(name, raw)) return true
      // Text that has the form of a cursor without being one is an error of its own.
      this.key += keyPart(partKind.cursor, hasCursorForm(raw) ? 'invalid' : 'none')
    }
    this.#addValue(name, '', this.#mark(raw, 'plain'))
    return true
  }

  #addValue(name: string, operator: string, marked: string): void {
    this.key += keyPart(partKind.name, name) + keyPart(partKind.operator, operator)
    this.template.push(`${name}=${operator}${marked}`)
  }

  /** Conditions on groups. Client libraries encode the parentheses, which the rest of the grammar needs. */
  #addHaving(name: string, raw: string): boolean {
    const text = valueOf(raw)
    if (text === undefined) return false
    if (this.#takesArguments && plainArgument.test(raw)) return this.#addFilter(name, raw)
    const [start, condition] = singleGroupCondition.exec(text) ?? []
    if (start === undefined || condition === undefined) return this.#addTree(name, text, groupToken)
    this.canBeRejected = false
    this.#addValue(
      name,
      condition,
      this.#mark(text.slice(condition.length), isPattern(condition) ? 'pattern' : 'plain'),
    )
    return true
  }

  #addLogic(name: string, raw: string): boolean {
    return this.#addTree(name, raw, logicToken)
  }

  #addTree(name: string, raw: string, logicToken: RegExp): boolean {
    this.canBeRejected = false
    this.key += keyPart(partKind.name, name)
    let template = `${name}=`
    for (let at = 0; at < raw.length; at = logicToken.lastIndex) {
      logicToken.lastIndex = at
      const match = logicToken.exec(raw)
      if (!match) return false
      const [text, condition, value] = match
      this.key += keyPart(partKind.operator, condition ?? text)
      template +=
        condition === undefined || value === undefined
          ? text
          : condition + this.#mark(value, isPattern(condition) ? 'pattern' : 'plain')
    }
    this.template.push(template)
    return true
  }

  #mark(value: string, form: ValueForm): string {
    this.forms.push(form)
    return marker(this.values.push(value) - 1)
  }
}

/**
 * Splits a request. Returns undefined when part of it is neither shape nor value, so that it must not be cached. The
 * key consists of the raw request, so that it does not depend on decoding.
 *
 * @param cursors reads the cursors of pages; without it, requests with a cursor are not cached
 */
export function splitRequest(http: HttpRequest, cursors?: PageCursors): SplitRequest | undefined {
  const { query, headers } = http
  if (query.length > longestQuery || query.includes(';')) return undefined
  const reader = new ShapeReader(http, cursors)
  if (query !== '') for (const part of query.split('&')) if (!reader.addPart(part)) return undefined
  for (const [name, text] of headers) {
    if (!shapeHeaders.has(name)) continue
    if (!name.startsWith('if-')) reader.key += keyPart(partKind.header, name) + keyPart(partKind.headerValue, text)
    else if (http.method !== 'GET') return undefined
  }
  const { key, values, forms, template, canBeRejected, cursor } = reader
  return { key, values, forms, template: template.join('&'), canBeRejected, cursor }
}
