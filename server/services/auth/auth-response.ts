// Responses of `/auth/v1`.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'
import { requestIdFor } from '../../http/request-log.ts'
import { OAuthError, type AuthError } from './auth-error.ts'

type Headers = Readonly<Record<string, string>>

/** Sends JSON text that must not be cached, unless `headers` say otherwise. */
export function sendAuthJson(response: ServerResponse, status: number, text: string, headers: Headers = {}): void {
  sendWhole(response, status, Buffer.from(text), {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...headers,
  })
}

/** Request and response header with the date of the version of the format. */
const versionHeader = 'X-Supabase-Api-Version'

/** The only version after the initial one: its errors have text as `code`. */
const version = '2024-01-01'

/** Whether the request asks for the version of errors with text as `code`. Later dates get it, too. */
function asksForVersion(given: string | readonly string[] | undefined): boolean {
  return typeof given === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(given) && given >= version
}

/**
 * Sends an error: `{code: <status>, error_code, msg}`, or `{code: <text>, message}` if the request asks for the version
 * of 2024-01-01. Both have the code in the header `x-sb-error-code`. Errors of OAuth have the form of RFC 6749.
 */
export function sendAuthError(response: ServerResponse, error: AuthError): void {
  const { status, code, message, headers, body } = error
  if (error instanceof OAuthError) {
    sendAuthJson(response, status, JSON.stringify({ error: error.error, error_description: message }), headers)
    return
  }
  const given = response.req.headers['x-supabase-api-version']
  const isNew = asksForVersion(given)
  const named = code ?? (status === 500 ? 'unexpected_failure' : 'unknown')
  const value = isNew
    ? { code: named, message, ...body }
    : { code: status, error_code: named, msg: message, ...(status >= 500 ? errorId(response) : {}), ...body }
  sendAuthJson(response, status, JSON.stringify(value), {
    ...(code === null ? {} : { 'x-sb-error-code': code }),
    ...(isNew ? { [versionHeader]: version } : {}),
    ...headers,
  })
}

/** The id by which the error is found in the log. */
function errorId(response: ServerResponse): { readonly error_id?: string } {
  const id = requestIdFor(response)
  return id === null ? {} : { error_id: id }
}
