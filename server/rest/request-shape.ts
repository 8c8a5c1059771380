// What two requests have in common that differ in nothing but the values of simple filters: their plan and their
// statement are the same, or the reason why they are refused.
import { randomBytes } from 'node:crypto'
import type { HttpRequest } from './request/api-request.ts'
import { isOperator } from './request/filter.ts'
import { utf8Text, parseQueryString } from './request/query-string.ts'

export type RequestShape = {
  /** Equal for requests of the same shape, and for no others. */
  readonly key: string
  /** The values that are left out of the key. */
  readonly values: readonly string[]
  /** The query string with a marker in place of each value. */
  readonly template: string
}

/** Stands for a value. Nobody can guess it, so it cannot be met in anything else of a request. */
const token = `v${randomBytes(16).toString('hex')}x`

export const marker = (index: number): string => `${token}${index}z`

/** Whether a text has a marker anywhere in it. */
export const hasMarker = (text: string): boolean => text.includes(token)

const markers = new RegExp(`${token}(\\d+)z`, 'g')

/** A text with the values in place of their markers. */
export const withValues = (text: string, values: readonly string[]): string =>
  hasMarker(text) ? text.replace(markers, (_, index: string) => values[Number(index)] ?? '') : text

const longestQuery = 2048
/** Headers that decide how a request is understood. */
const telling = new Set(['accept', 'accept-profile', 'content-profile', 'content-type', 'prefer', 'range'])

const plainName = /^[\w.>-]+$/
/** The last word of a parameter that is no filter. */
const reserved = new Set(['select', 'columns', 'on_conflict', 'order', 'and', 'or', 'limit', 'offset'])
/** Operators whose value goes into the statement as it is. */
const simpleFilter = /^(?:not\.)?(?:n?eq|[gl]te?)\./
/** A word where an operator should be. */
const firstWord = /^([A-Za-z_]+)\./
/** What can be no operator with a value, and so is the argument of a function. */
const plainArgument = /^[\w-]*$/

/** What stands before the value: a simple operator, or a word that is none, for which alone the filter is refused. */
function operatorOf(raw: string, isCall: boolean): string | undefined {
  const simple = simpleFilter.exec(raw)
  if (simple) return simple[0]
  // To a function this would be an argument.
  const word = isCall ? null : firstWord.exec(raw)
  return word && !isOperator(word[1] ?? '') ? word[0] : undefined
}

/** A value as the statement gets it; undefined when it is special in some way. */
function valueOf(raw: string): string | undefined {
  const [pair] = parseQueryString(`v=${raw}`)
  const text = pair?.[1] === undefined ? undefined : utf8Text(pair[1])
  return text?.includes('\0') ? undefined : text
}

/**
 * The shape of a request; undefined when it is not worth knowing.
 *
 * The key is made of the request as it was sent (in which no line break can be), so that it never depends on how
 * something is decoded.
 */
export function shapeOf(http: HttpRequest): RequestShape | undefined {
  const { method, path, query, headers } = http
  if (query.length > longestQuery || query.includes(';')) return undefined
  const values: string[] = []
  let key = `${method}\n${path}\n`
  let template = ''
  if (query !== '') {
    const isCall = path.startsWith('/rpc/')
    for (const part of query.split('&')) {
      const end = part.indexOf('=')
      const name = end < 0 ? part : part.slice(0, end)
      const raw = end < 0 ? '' : part.slice(end + 1)
      const known = plainName.test(name) && !reserved.has(name.slice(name.lastIndexOf('.') + 1))
      const operator = known ? operatorOf(raw, isCall) : undefined
      const isArgument = known && isCall && end >= 0 && plainArgument.test(raw)
      const value = operator === undefined ? (isArgument ? raw : undefined) : valueOf(raw.slice(operator.length))
      if (template !== '') template += '&'
      if (value === undefined) {
        key += `${part}\n`
        template += part
      } else {
        key += `${name}=${operator ?? ''}\n\n`
        template += `${name}=${operator ?? ''}${marker(values.length)}`
        values.push(value)
      }
    }
  }
  for (const [name, text] of headers) if (telling.has(name)) key += `${name}:${text}\n`
  return { key, values, template }
}
