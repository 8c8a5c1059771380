// The responses of `/auth` and `/report`: `{status, …}`, whatever happens. `schemas/*-response-dto.json` say the same.
import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import type { Fault } from '../validation/fault.ts'

/** What is wrong with a field, by its name; a JSON pointer names one that lies deeper. */
export type FieldErrors = Readonly<Record<string, string>>

type FailureParts = {
  readonly fieldErrors?: FieldErrors
  /** The status in words, where the response repeats it. */
  readonly error?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** Ends the request with a response that tells the client what it did wrong (4xx), or what is missing here (503). */
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

/** Where a client cannot help itself, the responses never say more than this. */
export const failures = {
  notSignedIn: () => new Failure(401, 'You are not currently signed in'),
  wrongCredentials: () => new Failure(401, 'Email or password is incorrect'),
  wrongPassword: () => new Failure(403, 'The current password is wrong'),
  addressTaken: (cause?: unknown) => new Failure(409, 'This e-mail address is already registered', { cause }),
  notMigrated: (cause: unknown) =>
    new Failure(503, 'The database is not set up for this: `rowhouse migrate` has not run', { cause }),
  unreachable: (cause: unknown) => new Failure(503, 'The database cannot be reached at the moment', { cause }),
  noSecrets: () => new Failure(503, 'Sessions are not set up: SESSION_SECRETS is not set'),
  invalid: (fieldErrors: FieldErrors, cause?: unknown) => new Failure(400, 'Validation failed', { fieldErrors, cause }),
  /** The first fault of each field; `whole` names what was checked, for a fault that is of no single field. */
  faults: (faults: readonly Fault[], whole = 'body') => {
    const fieldErrors = new Map<string, string>()
    for (const { pointer, message } of faults) {
      const field = pointer === '' ? whole : fieldOf(pointer)
      if (!fieldErrors.has(field)) fieldErrors.set(field, message)
    }
    return failures.invalid(Object.fromEntries(fieldErrors))
  },
}

/** A pointer with a single token is the name of a property. */
const fieldOf = (pointer: string): string =>
  pointer.lastIndexOf('/') === 0 ? pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') : pointer

/** JSON that is sent as it is. */
export class JsonText {
  readonly text: string

  /** @param text a complete JSON value */
  constructor(text: string) {
    this.text = text
  }
}

export type Success = {
  /** What was done, where the details do not show it. */
  readonly message?: string
  /** What was asked for: an object, or a list; or the JSON of it. */
  readonly details?: object
  /** Beside a list that has pages: where the next one begins, or null on the last. */
  readonly nextCursor?: string | null
}

/** `{status: "success", message?, details?, nextCursor?}` */
export function sendSuccess(
  response: ServerResponse,
  statusCode: number,
  { message, details, nextCursor }: Success,
): void {
  // What is undefined is left out of JSON.
  if (!(details instanceof JsonText)) {
    send(response, statusCode, { status: 'success', message, details, nextCursor }, {})
    return
  }
  const before = JSON.stringify({ status: 'success', message }).slice(0, -1)
  const after = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`
  sendText(response, statusCode, `${before},"details":${details.text}${after}}`, {})
}

function send(
  response: ServerResponse,
  statusCode: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  sendText(response, statusCode, JSON.stringify(body), headers)
}

function sendText(
  response: ServerResponse,
  statusCode: number,
  text: string,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(statusCode, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...headers,
  })
  response.end(text)
}

/** 405, with the methods that the path has. */
export const methodNotAllowed =
  (...allowed: readonly string[]): RequestHandler =>
  (request) => {
    throw new Failure(405, `The method ${request.method} is not allowed here`, {
      headers: { Allow: allowed.join(', ') },
    })
  }

const maxPath = 200

/** The failure of a path that there is nothing at: `Cannot POST /x`. The query string may hold secrets, and is left out. */
export function unknownPath(method: string | undefined, target: string): Failure {
  const path = target.replace(/[?#].*$/s, '')
  const shown = path.length > maxPath ? `${path.slice(0, maxPath)}…` : path
  return new Failure(404, `Cannot ${method} ${shown}`, { error: 'Not Found' })
}

export const notFound: RequestHandler = (request) => {
  throw unknownPath(request.method, request.originalUrl)
}

/**
 * Writes the response to an error: `fail` with what the client did wrong, else `error` with nothing of the cause in it.
 * `onError` gets what is not the client's doing.
 *
 * @param failureOf knows further errors, such as those of the database
 */
export const errorResponder =
  (
    onError: (error: unknown) => void,
    failureOf: (error: unknown) => Failure | undefined = () => undefined,
  ): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const failure = ownFailure(error) ?? failureOf(error)
    if (!failure || failure.statusCode >= 500) onError(error)
    sendFailure(response, failure ?? new Failure(500, 'Something went wrong on the server'))
  }

/** `{status: "fail" or "error", statusCode, message, error?, details?}` */
export function sendFailure(response: ServerResponse, failure: Failure): void {
  const { statusCode, message, error, fieldErrors, headers } = failure
  const status = statusCode >= 500 ? 'error' : 'fail'
  send(response, statusCode, { status, statusCode, message, error, details: fieldErrors && { fieldErrors } }, headers)
}

function ownFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  // The router's, for a path with broken percent-encoding.
  if (error instanceof URIError) return new Failure(400, 'The address is not valid')
  return undefined
}
