// Parses a batch: the JSON format of OData 4.01, section 19.
// https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html#sec_BatchRequestsandResponses
import { isUtf8 } from 'node:buffer'
import type { ApiError } from '../../errors.ts'
import { parsePreferences } from '../../request/preferences.ts'
import type { RestSettings } from '../../settings.ts'
import { batchErrors, ofRequest } from './batch-errors.ts'
import { jsonElements, jsonMembers } from '../../../text/json-members.ts'
import { hasMoreSigns, mostSigns } from '../../../text/json-text.ts'
import { bodyTemplate, idPattern, isReference, type BodyTemplate, type Reference } from './references.ts'
import { isHeaderOfPart, isJsonType, isTextType, requireHeadSize, type PartHeaders } from './part-headers.ts'
import { urlTemplate, type UrlTemplate } from './url-template.ts'

/** One request of a batch. */
export type BatchPart = {
  readonly id: string
  /** In upper case. */
  readonly method: string
  readonly url: UrlTemplate
  /** Lower-case names, and values with one character per byte. */
  readonly headers: PartHeaders
  /** JSON with references, or the bytes of another media type; undefined for a request without a body. */
  readonly body:
    | { readonly kind: 'json'; readonly json: BodyTemplate }
    | { readonly kind: 'bytes'; readonly bytes: Buffer }
    | undefined
  /** All references of its url and body. */
  readonly references: readonly Reference[]
}

export type BatchLimits = Pick<RestSettings, 'batchMaxRequests' | 'requestHeaderLimit'>

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'])
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT'])
const partMembers = ['id', 'method', 'url', 'headers', 'body', 'dependsOn']

/**
 * Parses and checks a whole batch, before anything runs.
 *
 * @throws ApiError PGRSTX10 for an invalid batch, PGRSTX11 for too many requests, and for a url with headers that are too large
 */
export function parseBatch(body: Buffer, limits: BatchLimits): readonly BatchPart[] {
  if (hasMoreSigns(body, mostSigns)) throw batchErrors.tooManyValues(mostSigns)
  const text = isUtf8(body) ? body.toString() : undefined
  const value = text === undefined ? undefined : parsed(text)
  const requests: unknown = isRecord(value) ? value.requests : undefined
  if (text === undefined || !isRecord(value) || !Array.isArray(requests)) {
    throw batchErrors.invalid('It must be a JSON object with the member requests, an array.')
  }
  const unknown = Object.keys(value).find((name) => name !== 'requests')
  if (unknown !== undefined)
    throw batchErrors.invalid(`It has the unknown member ${unknown}; only requests is allowed.`)
  if (requests.length > limits.batchMaxRequests) throw batchErrors.tooMany(requests.length, limits.batchMaxRequests)
  const texts = jsonElements(jsonMembers(text).get('requests') ?? '[]')
  const earlier = new Set<string>()
  return (requests as unknown[]).map((request, index) => {
    const id = idOf(request, index)
    if (earlier.has(id)) throw batchErrors.invalid(`Two requests have the id ${id}.`)
    const given = request as Record<string, unknown>
    const part = inRequest(id, () => parsePart(id, given, texts[index] ?? '', earlier, limits))
    earlier.add(id)
    return part
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Runs `check`, whose errors are those of a request. */
function inRequest<T>(id: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw ofRequest(error as ApiError, id)
  }
}

function idOf(request: unknown, index: number): string {
  if (!isRecord(request)) throw batchErrors.invalid(`requests[${index}] must be an object.`)
  const { id } = request
  if (typeof id === 'string' && idPattern.test(id)) return id
  const rule = 'must be a text of 1 to 100 letters, digits and the characters - . _ ~ : @'
  throw batchErrors.invalid(`The id of requests[${index}] ${rule}.`)
}

function parsePart(
  id: string,
  request: Readonly<Record<string, unknown>>,
  text: string,
  earlier: ReadonlySet<string>,
  { requestHeaderLimit }: BatchLimits,
): BatchPart {
  const unknown = Object.keys(request).find((name) => !partMembers.includes(name))
  if (unknown !== undefined) {
    throw batchErrors.invalid(`It has the unknown member ${unknown}; allowed are ${partMembers.join(', ')}.`)
  }
  const method = typeof request.method === 'string' ? request.method.toUpperCase() : ''
  if (!methods.has(method)) throw batchErrors.invalid(`The method must be one of ${[...methods].join(', ')}.`)
  if (typeof request.url !== 'string') throw batchErrors.invalid('The url must be a text.')
  // References are not counted below. The check is for texts of many.
  requireHeadSize([request.url], [], requestHeaderLimit * 2)
  const url = urlTemplate(request.url)
  const headers = headersOf(request.headers)
  requireHeadSize(
    url.filter((piece) => typeof piece === 'string'),
    headers,
    requestHeaderLimit,
  )
  refuseTransaction(headers)
  const given = jsonMembers(text).get('body')
  if (given !== undefined && !methodsWithBody.has(method)) {
    throw batchErrors.invalid(`A request with the method ${method} has no body.`)
  }
  const body = given === undefined ? undefined : bodyOf(given, headers)
  const pieces = [...url, ...(body?.kind === 'json' ? body.json : [])]
  const references = pieces.filter(isReference)
  const named = references.map((reference) => reference.id).concat(dependencies(request.dependsOn))
  const missing = named.find((name) => !earlier.has(name))
  if (missing !== undefined) {
    const rule = 'a reference must be to a request before it'
    throw batchErrors.invalid(`It refers to the request ${missing}; ${rule}${missing === id ? ', not to itself' : ''}.`)
  }
  return { id, method, url, headers, body, references }
}

/** `dependsOn` of OData. Requests run in order, so it is only checked. */
function dependencies(value: unknown): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item): item is string => typeof item === 'string')) return value
  throw batchErrors.invalid('dependsOn must be an array of the ids of requests before it.')
}

function headersOf(value: unknown): PartHeaders {
  if (value === undefined) return []
  if (!isRecord(value)) throw batchErrors.invalid('headers must be an object.')
  return Object.entries(value).map(([name, text]) => {
    if (!isHeaderOfPart(name)) {
      throw batchErrors.invalid(
        `The header ${name} must be a header of the batch: requests have only headers of content, preferences and conditions.`,
      )
    }
    if (typeof text !== 'string' || hasControl.test(text)) {
      throw batchErrors.invalid(`The value of the header ${name} must be a text without control characters.`)
    }
    return [name.toLowerCase(), Buffer.from(text).toString('latin1')] as const
  })
}

/** Reads the preferences, so that the size of the headers must be checked first. */
function refuseTransaction(headers: PartHeaders): void {
  const preferences = headers.filter(([name]) => name === 'prefer').map(([, text]) => text)
  if (parsePreferences(preferences, true).transaction !== undefined) {
    throw batchErrors.invalid('Prefer: tx must be a header of the batch, which is one transaction.')
  }
}

// eslint-disable-next-line no-control-regex -- these are the characters to refuse
const hasControl = /[\0-\x08\x0a-\x1f\x7f]/
const base64 = /^[\w+/-]*={0,2}$/

const ndjson = /^\s*application\/x-ndjson\s*(?:;|$)/i

/** JSON as it is, text as a JSON text, and bytes of other media types as base64url. */
function bodyOf(text: string, headers: PartHeaders): BatchPart['body'] {
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? 'application/json'
  if (ndjson.test(type)) {
    throw batchErrors.invalid('An import (application/x-ndjson) is a request of its own: send a JSON array or CSV.')
  }
  if (isJsonType(type)) return { kind: 'json', json: bodyTemplate(text) }
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'string') throw batchErrors.invalid(`A body of the type ${type} must be a text.`)
  if (isTextType(type)) return { kind: 'bytes', bytes: Buffer.from(value) }
  if (base64.test(value)) return { kind: 'bytes', bytes: Buffer.from(value, 'base64url') }
  throw batchErrors.invalid(`A body of the type ${type} must be in base64url.`)
}
