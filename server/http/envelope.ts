// The envelope of all responses of `/auth` and `/report`: `{status, …}`, see `schemas/*-response-dto.json`.
import type { ServerResponse } from 'node:http'
import { jsonObject, jsonTexts } from '../text/json-members.ts'
import type { Fault } from '../validation/fault.ts'

/** What is wrong with each field, by name, or by JSON pointer for nested fields. */
export type FieldErrors = Readonly<Record<string, string>>

type FailureParts = {
  readonly fieldErrors?: FieldErrors
  /** The reason phrase, if the response repeats it. */
  readonly error?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** Ends the request with an error response: 4xx when the request is wrong, 5xx when the service cannot serve it. */
export class Failure extends Error {
  readonly statusCode: number
  readonly error: string | undefined
  readonly fieldErrors: FieldErrors | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(statusCode: number, message: string, { error, fieldErrors, headers = {}, cause }: FailureParts = {}) {
    super(message, { cause })
    this.name = 'Failure'
    this.statusCode = statusCode
    this.error = error
    this.fieldErrors = fieldErrors
    this.headers = headers
  }
}

/** The common failures. Those that the client cannot fix reveal nothing about their causes. */
export const failures = {
  notSignedIn: () => new Failure(401, 'You are not currently signed in'),
  wrongCredentials: () => new Failure(401, 'Email or password is incorrect'),
  wrongPassword: () => new Failure(403, 'The current password is wrong'),
  needsSecondFactor: (cause?: unknown) =>
    new Failure(403, 'This needs your second factor: verify it at /auth/v1 with the tokens of this session', { cause }),
  addressTaken: (cause?: unknown) => new Failure(409, 'This e-mail address is already registered', { cause }),
  notMigrated: (cause: unknown) =>
    new Failure(503, 'The database is not set up for this: `rowhouse migrate` has not run', { cause }),
  unreachable: (cause: unknown) => new Failure(503, 'The database cannot be reached at the moment', { cause }),
  overloaded: (cause?: unknown) =>
    new Failure(503, 'The server is overloaded: try again later', { headers: { 'Retry-After': '1' }, cause }),
  noSecrets: () => new Failure(503, 'Sessions are not set up: SESSION_SECRETS is not set'),
  invalid: (fieldErrors: FieldErrors, cause?: unknown) => new Failure(400, 'Validation failed', { fieldErrors, cause }),
  /** Has the first fault of each field. `whole` is the name for faults that do not belong to a field. */
  faults: (faults: readonly Fault[], whole = 'body') => {
    const fieldErrors = new Map<string, string>()
    for (const { pointer, message } of faults) {
      const field = pointer === '' ? whole : fieldOf(pointer)
      if (!fieldErrors.has(field)) fieldErrors.set(field, message)
    }
    return failures.invalid(Object.fromEntries(fieldErrors))
  },
}

/** The property name for a pointer with a single token, otherwise the pointer. */
const fieldOf = (pointer: string): string =>
  pointer.lastIndexOf('/') === 0 ? pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') : pointer

/** JSON that is sent unchanged. */
export class JsonText {
  readonly text: string

  /** @param text a complete JSON value */
  constructor(text: string) {
    this.text = text
  }
}

export type Success = {
  /** What was done, if the details do not show it. */
  readonly message?: string
  /** The requested object or list, or its JSON. */
  readonly details?: object
  /** For a list with pages: cursor of the next page, null on the last. */
  readonly nextCursor?: string | null
}

/** `{status: "success", message?, details?, nextCursor?}` */
export function sendSuccess(
  response: ServerResponse,
  statusCode: number,
  { message, details, nextCursor }: Success,
): void {
  // JSON leaves out what is undefined.
  if (!(details instanceof JsonText)) {
    sendText(response, statusCode, JSON.stringify({ status: 'success', message, details, nextCursor }))
    return
  }
  const members = { ...jsonTexts({ status: 'success', message }), details: details.text, ...jsonTexts({ nextCursor }) }
  sendText(response, statusCode, jsonObject(members))
}

/** Sends JSON text that must not be cached. */
export function sendText(
  response: ServerResponse,
  statusCode: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(statusCode, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...headers,
  })
  response.end(text)
}

const maxPath = 200

/** The failure of an unknown path: `Cannot POST /x`. Leaves out the query string, which may contain secrets. */
export function unknownPath(method: string | undefined, target: string): Failure {
  const path = target.replace(/[?#].*$/s, '')
  const shown = path.length > maxPath ? `${path.slice(0, maxPath)}…` : path
  return new Failure(404, `Cannot ${method} ${shown}`, { error: 'Not Found' })
}

/** `{status: "fail" or "error", statusCode, message, error?, details?}` */
export function sendFailure(response: ServerResponse, failure: Failure): void {
  const { statusCode, message, error, fieldErrors, headers } = failure
  const status = statusCode >= 500 ? 'error' : 'fail'
  const body = { status, statusCode, message, error, details: fieldErrors && { fieldErrors } }
  sendText(response, statusCode, JSON.stringify(body), headers)
}
