// The response to a batch: `{"responses": [{"id", "status", "headers", "body"}]}`, with the bodies as they came.
import { lenientUtf8Text } from '../../request/query-string.ts'
import { HeaderList, isFramingHeader } from '../../response/header.ts'
import { unstreamedBytes, type RestResponse } from '../../response/result.ts'
import { batchErrors } from './batch-errors.ts'
import { jsonElements, jsonMembers } from '../../../text/json-members.ts'
import { isJsonType, isTextType } from './part-headers.ts'

/** The response to one request, and its body if that is JSON. */
export type PartResponse = { readonly id: string; readonly response: RestResponse; readonly json: string | undefined }

const typeOf = ({ headers }: RestResponse): string =>
  headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''

/**
 * The body of a response if it is JSON; undefined for other media types, and without a body.
 *
 * @throws ApiError PGRSTX13 for a handler of a media type whose result is not the JSON that it says
 */
export function jsonOf(response: RestResponse): string | undefined {
  const bytes = unstreamedBytes(response.body)
  if (bytes.length === 0 || !isJsonType(typeOf(response))) return undefined
  const text = bytes.toString()
  try {
    JSON.parse(text)
  } catch {
    throw batchErrors.invalidJson()
  }
  return text
}

/** A body as a JSON value: text as text, bytes of other media types as base64url, as in OData. */
function bodyText({ response, json }: PartResponse): string | undefined {
  if (json !== undefined) return json
  const bytes = unstreamedBytes(response.body)
  if (bytes.length === 0) return undefined
  return JSON.stringify(isTextType(typeOf(response)) ? bytes.toString() : bytes.toString('base64url'))
}

/** Headers by lower-case name. Those that frame a message or are the same for all responses are left out. */
function headersText({ headers }: RestResponse): string {
  const byName = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    if (isFramingHeader(key) || key === 'server') continue
    const text = lenientUtf8Text(value)
    const before = byName.get(key)
    byName.set(key, before === undefined ? text : `${before}, ${text}`)
  }
  return JSON.stringify(Object.fromEntries(byName))
}

function partText(part: PartResponse): string {
  const { id, response } = part
  const body = bodyText(part)
  const end = body === undefined ? '' : `,"body":${body}`
  return `{"id":${JSON.stringify(id)},"status":${response.status},"headers":${headersText(response)}${end}}`
}

/** The JSON bodies of the responses in the text of a response to a batch, by the ids of their requests. */
export function bodiesOf(text: string): ReadonlyMap<string, string | undefined> {
  const bodies = new Map<string, string | undefined>()
  for (const response of jsonElements(jsonMembers(text).get('responses') ?? '[]')) {
    const { id, headers } = JSON.parse(response) as { readonly id: string; readonly headers: Record<string, string> }
    bodies.set(id, isJsonType(headers['content-type'] ?? '') ? jsonMembers(response).get('body') : undefined)
  }
  return bodies
}

/**
 * The response to a batch.
 *
 * @param transaction the end of the transaction that the batch preferred, if it was applied
 */
export function batchResponse(
  parts: readonly PartResponse[],
  transaction: 'commit' | 'rollback' | undefined,
): RestResponse {
  const list = new HeaderList()
  list.add('Content-Type', 'application/json; charset=utf-8')
  const body = Buffer.from(`{"responses":[${parts.map(partText).join(',')}]}`)
  list.addLength(body)
  if (transaction) list.add('Preference-Applied', `tx=${transaction}`)
  const warnings = parts.flatMap(({ response }) => (response.warning === undefined ? [] : [response.warning]))
  return {
    status: 200,
    headers: list.headers,
    body,
    ...(warnings.length > 0 ? { warning: warnings.join('; ') } : {}),
  }
}
