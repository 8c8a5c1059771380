// Request bodies.
import { isUtf8 } from 'node:buffer'
import { errors } from '../errors.ts'
import { encodeMediaType } from '../media-type.ts'
import type { MediaType } from '../media-type.ts'
import type { Action, Payload, ReadPayload } from './api-request.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { jsonColumnsOf, type IsJsonColumn } from './csv-json.ts'
import { csvPayload } from './csv.ts'
import { parseQueryString, utf8Text } from './query-string.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import { hasLoneSurrogate } from '../../text/json-text.ts'
import { hasSigns } from '../../text/sign-count.ts'

type JsonRead = { readonly payload: Payload; readonly value: unknown }

const noPayload: ReadPayload = { payload: undefined, columns: [], value: undefined }
export const noObjects: Payload = { kind: 'json', text: '[]', keys: [] }

const unparsed = (payload: Payload): JsonRead => ({ payload, value: undefined })

/** Whether an action has a body. */
export const bodyIsRead = (action: Action): boolean =>
  action.kind === 'call' ? action.method === 'post' : action.kind === 'mutate' && action.mutation !== 'delete'

/** The keys of the `columns` parameter. A single upsert ignores it, because its body must have all columns. */
export const namedKeys = (action: Action, columns: readonly string[] | undefined): readonly string[] | undefined =>
  action.kind === 'mutate' && action.mutation === 'single-upsert' ? undefined : columns

/**
 * Parses the body of a request.
 * @param columns the `columns` parameter
 * @param cache has the types of the columns of CSV; without it, none is of type json
 * @throws PGRST102
 */
export function parsePayload(
  body: Buffer,
  contentType: MediaType,
  columns: readonly string[] | undefined,
  action: Action,
  cache?: SchemaCache,
): ReadPayload {
  if (!bodyIsRead(action)) return noPayload
  const isCall = action.kind === 'call'
  const named = namedKeys(action, columns)
  const { payload, value } = readBody(body, contentType, isCall, named !== undefined, jsonColumnsOf(action, cache))
  switch (payload.kind) {
    case 'json':
    case 'form':
      return { payload, columns: payload.keys, value }
    case 'raw-json':
      return { payload, columns: named ?? [], value }
    case 'raw':
      return { payload, columns: [], value }
    default:
      return payload satisfies never
  }
}

function readBody(
  body: Buffer,
  contentType: MediaType,
  isCall: boolean,
  keysAreNamed: boolean,
  isJson: IsJsonColumn,
): JsonRead {
  switch (contentType.kind) {
    case 'json':
      if (keysAreNamed) return unparsed({ kind: 'raw-json', text: jsonText(body) })
      if (body.length === 0 && isCall) return unparsed({ kind: 'json', text: '', keys: [] })
      return jsonPayload(jsonText(body))
    case 'csv':
      if (!isUtf8(body)) throw errors.invalidBody('The CSV is not valid UTF-8')
      return unparsed(csvPayload(body, isJson))
    case 'urlencoded':
      return unparsed(formPayload(body, isCall))
    case 'text':
    case 'xml':
    case 'octet-stream':
      if (!isCall) break
      return unparsed({ kind: 'raw', bytes: body })
    default:
  }
  throw errors.invalidBody(`Content-Type not acceptable: ${encodeMediaType(contentType)}`)
}

/**
 * Parses JSON.
 *
 * @throws PGRST102 when it is not JSON
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidJson()
  }
}

export const invalidJson = (): Error => errors.invalidBody('Empty or invalid json')

function jsonText(body: Buffer): string {
  if (!isUtf8(body)) throw invalidJson()
  return body.toString('utf8')
}

function jsonPayload(text: string): JsonRead {
  const value = parseJson(text)
  if (hasLoneSurrogate(text)) throw invalidJson()
  if (!Array.isArray(value))
    return isObject(value) ? { payload: { kind: 'json', text, keys: keysOf(value) }, value } : unparsed(noObjects)
  const [first] = value as unknown[]
  if (value.length === 0) return unparsed(noObjects)
  if (!isObject(first)) throw unequalKeys()
  const keys = Object.keys(first)
  const known = new Set(keys)
  // Rows nearly always have their keys in the same order, which avoids the lookup in the set.
  const isKnown = (key: string, index: number): boolean => key === keys[index] || known.has(key)
  for (const item of value as unknown[]) {
    if (!isObject(item)) throw unequalKeys()
    const itemKeys = Object.keys(item)
    if (itemKeys.length !== keys.length || !itemKeys.every(isKnown)) throw unequalKeys()
  }
  return { payload: { kind: 'json', text, keys: sortedTexts(keys) }, value }
}

export const unequalKeys = (): Error => errors.invalidBody('All object keys must match')

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const keysOf = (value: object): readonly string[] => sortedTexts(Object.keys(value))

function formText(bytes: string): string {
  const text = utf8Text(bytes)
  if (text === undefined) throw errors.invalidBody('The form is not valid UTF-8')
  return text
}

/** Maximum number of fields of a form: a pair takes far more memory than its text. */
const mostFields = 10_000
/** Maximum number of escaped characters of a form. Larger texts are better sent as JSON. */
const mostEscapes = 100_000

function checkForm(form: string): void {
  if (hasSigns(form, '&;', mostFields)) throw errors.invalidBody(`The form has more than ${mostFields} fields`)
  if (hasSigns(form, '%+', mostEscapes)) {
    throw errors.invalidBody(`The form has more than ${mostEscapes} escaped characters`, 'Send larger texts as JSON.')
  }
}

/** Parses a form: the arguments of a function, or one row. The last of repeated names in a row wins. */
function formPayload(body: Buffer, isCall: boolean): Payload {
  const form = body.toString('latin1')
  checkForm(form)
  const pairs = parseQueryString(form.startsWith('?') ? form.slice(1) : form).map(
    ([name, value]) => [formText(name), formText(value ?? '')] as const,
  )
  const row = new Map(pairs)
  const keys = sortedTexts(row.keys())
  if (isCall) return { kind: 'form', pairs, keys }
  // `JSON.stringify` of an object would move numeric names to the front, and fail for the name `__proto__`.
  const members = [...row].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return { kind: 'json', text: `{${members.join(',')}}`, keys }
}
