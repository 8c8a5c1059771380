// Urls with references: `/lines?order_id=eq.${order#/id}`. A value that is filled in is percent-encoded, and stays one
// value of the grammar: within parentheses, braces and brackets it is quoted, and where it could be more, it is refused.
import type { ApiError } from '../../errors.ts'
import { isOperator } from '../../request/filter.ts'
import { isGroupingName } from '../distinct/groupings.ts'
import { parseQueryString } from '../../request/query-string.ts'
import { queryText } from '../../response/header.ts'
import { batchErrors } from './batch-errors.ts'
import { isPointer } from '../../../text/json-document.ts'
import { isReference, referenceText, type Lookup, type Reference } from './references.ts'
import { Conditions, isLiteral, LiteralText, plainText, type Context } from './value-context.ts'
import { isCallPath } from '../../request/resource.ts'

/** A url with references between its texts, which have one character per byte. */
export type UrlTemplate = readonly (string | Reference)[]

const urlReference = /\$\{([\w.:~@-]{1,100})#((?:\/[^{}]*)?)\}/g

/** What must not stand in a url: white space, control characters, and a fragment. */
// eslint-disable-next-line no-control-regex -- these are the characters to refuse
const unusable = /[\s\0-\x1f\x7f#]/

/**
 * Splits a url at its references.
 *
 * @param url relative to the base, as in the batch
 * @throws ApiError PGRSTX10 for a url that is not valid
 */
export function urlTemplate(url: string): UrlTemplate {
  if (!url.startsWith('/'))
    throw batchErrors.invalid(`The url ${url} must begin with a slash: it is relative to the base.`)
  const pieces: (string | Reference)[] = []
  let from = 0
  const addText = (text: string): void => {
    if (unusable.test(text)) {
      throw batchErrors.invalid(`The url ${url} has white space, a control character or # in it: percent-encode it.`)
    }
    pieces.push(Buffer.from(text).toString('latin1'))
  }
  for (const match of url.matchAll(urlReference)) {
    const [text, id = '', encoded = ''] = match
    addText(url.slice(from, match.index))
    pieces.push({ id, pointer: pointerOf(encoded, url) })
    from = match.index + text.length
  }
  addText(url.slice(from))
  return pieces
}

function pointerOf(encoded: string, url: string): string {
  try {
    const pointer = decodeURIComponent(encoded)
    if (isPointer(pointer)) return pointer
  } catch {
    // Reported like a pointer that is not valid.
  }
  throw batchErrors.invalid(`The url ${url} has a reference with an invalid JSON Pointer: ${encoded}`)
}

/** Path and query string. */
export type FilledUrl = { readonly path: string; readonly query: string }

/**
 * Fills in the references of a url.
 *
 * @param isRead whether the method is GET or HEAD: then parameters of a function are its arguments
 * @throws ApiError PGRSTX12 for a reference without a value, or where no single value can stand
 */
export function fillUrl(template: UrlTemplate, isRead: boolean, lookup: Lookup): FilledUrl {
  const { path: pathPieces, parameters } = splitUrl(template)
  const scalar = (piece: Reference): Scalar => scalarOf(piece, lookup)
  const path = fillPath(pathPieces, scalar)
  const isCall = isRead && isCallPath(path)
  const query = parameters.map((pieces) => fillParameter(pieces, isCall, scalar)).join('&')
  return { path, query }
}

/** What precedes the key of a row in a path. */
const beforeKey = /^\/(?!rpc\/)[^/]+\//

/** Fills in the key of a row. What comes before it are names. */
function fillPath(pieces: Pieces, scalar: (piece: Reference) => Scalar): string {
  let path = ''
  for (const piece of pieces) {
    if (isReference(piece) && !beforeKey.test(path)) {
      const details = 'A path has names; only the key of a row is a value, as in /orders/${order#/id}.'
      throw batchErrors.referenceInUrl(referenceText(piece), details)
    }
    path += isReference(piece) ? queryText(scalar(piece).text) : piece
  }
  return path
}

type Pieces = (string | Reference)[]

/** Splits at the first question mark, and into parameters after it. */
function splitUrl(template: UrlTemplate): { readonly path: Pieces; readonly parameters: readonly Pieces[] } {
  const path: Pieces = []
  const parameters: Pieces[] = []
  for (const piece of template) {
    let current = parameters.at(-1)
    if (isReference(piece)) {
      ;(current ?? path).push(piece)
      continue
    }
    let text = piece
    if (!current) {
      const question = text.indexOf('?')
      path.push(question < 0 ? text : text.slice(0, question))
      if (question < 0) continue
      text = text.slice(question + 1)
      parameters.push((current = []))
    }
    // Both separate parameters.
    const [first = '', ...others] = text.split(/[&;]/)
    current.push(first)
    for (const other of others) parameters.push([other])
  }
  return { path, parameters }
}

/** A value in a url: a text, a number or a boolean. */
type Scalar = { readonly text: string; readonly isText: boolean }

function scalarOf(piece: Reference, lookup: Lookup): Scalar {
  const json = lookup(piece)
  const value: unknown = JSON.parse(json)
  if (typeof value === 'string') return { text: value, isText: true }
  // A number keeps its digits.
  if (typeof value === 'number' || typeof value === 'boolean') return { text: json, isText: false }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object'
  throw batchErrors.referenceInUrl(referenceText(piece), `It is ${kind}: a url has only texts, numbers and booleans.`)
}

/** Parameters whose values are names. */
const named = new Set(['select', 'columns', 'on_conflict', 'order'])
const operatorPrefix = /^(?:not\.)?([A-Za-z]+)(?:\(([^()]*)\))?\./

/** A percent-decoded text, one character per byte. */
const decoded = (text: string): string => parseQueryString(`v=${text}`)[0]?.[1] ?? ''

function fillParameter(pieces: Pieces, isCall: boolean, scalar: (piece: Reference) => Scalar): string {
  const reference = pieces.find(isReference)
  if (!reference) return pieces.map((piece) => (isReference(piece) ? '' : piece)).join('')
  const refusal = (details: string): ApiError => batchErrors.referenceInUrl(referenceText(reference), details)
  const [first = ''] = pieces
  const equals = isReference(first) ? -1 : first.indexOf('=')
  if (isReference(first) || equals < 0) throw refusal('It must be a value: the name of a parameter is fixed.')
  const name = decoded(first.slice(0, equals))
  const kind = name.slice(name.lastIndexOf('.') + 1)
  if (named.has(kind)) throw refusal(`The parameter ${kind} has names, not values.`)
  const start = first.slice(equals + 1)
  const context = contextOf(kind, decoded(start), isCall)
  if (typeof context === 'string') throw refusal(context)
  let value = ''
  for (const piece of [start, ...pieces.slice(1)]) {
    if (isReference(piece)) {
      const { text, isText } = scalar(piece)
      const written = context.value(text, isText)
      if (written === undefined) throw refusal(context.rule)
      value += queryText(written)
    } else {
      context.read(decoded(piece))
      value += piece
    }
  }
  if (!context.isComplete()) throw refusal(context.rule)
  // Only an argument of a function begins without an operator.
  if (isCall && !hasOperator(decoded(start)) && hasOperator(decoded(value)))
    throw refusal('Its text would be read as a filter. Call the function by POST.')
  return `${first.slice(0, equals)}=${value}`
}

const hasOperator = (text: string): boolean => isOperator(operatorPrefix.exec(text)?.[1] ?? '')

/** The context of a value, or why there is none. */
function contextOf(kind: string, start: string, isCall: boolean): Context | string {
  if (kind === 'and' || kind === 'or') return new Conditions()
  if (kind === 'limit' || kind === 'offset') return plainText
  const [prefix = '', operator = '', argument] = operatorPrefix.exec(start) ?? []
  // After `not.`, the value would begin with the operator.
  const isFilter = isOperator(operator) && operator !== 'not'
  if (!isFilter && isGroupingName(kind))
    return `The parameter ${kind} has names and conditions on groups, in which no value can stand.`
  if (!isFilter)
    return isCall && operator !== 'not'
      ? plainText
      : 'Write the operator of the filter before it, as in id=eq.${order#/id}.'
  if (operator === 'in') return new Conditions()
  const literal = start.slice(prefix.length)
  const isQuantified = argument === 'any' || argument === 'all'
  if (isQuantified && !literal.startsWith('{'))
    return 'Write the braces of the list around it, as in id=eq(any).{${order#/id}}.'
  return isLiteral(literal) ? new LiteralText() : plainText
}
