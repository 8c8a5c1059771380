// The answers of `/auth` and `/report`: `{status, statusCode, …}`, whatever happens.
import type { ServerResponse } from 'node:http'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { isNotMigrated, isUnreachable } from '../database/database-error.ts'
import type { Fault } from '../validation/fault.ts'

export type FieldError = { readonly field: string; readonly message: string }

/** Ends the request with an answer that tells the client what it did wrong (4xx), or what is missing here (503). */
export class Failure extends Error {
  readonly statusCode: number
  readonly errors: readonly FieldError[] | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    statusCode: number,
    message: string,
    more: { errors?: readonly FieldError[]; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.name = 'Failure'
    this.statusCode = statusCode
    this.errors = more.errors
    this.headers = more.headers ?? {}
  }
}

/** Where a client cannot help itself, the answers never say more than this. */
export const failures = {
  notSignedIn: () => new Failure(401, 'You are not currently signed in'),
  wrongCredentials: () => new Failure(401, 'The e-mail address or the password is wrong'),
  wrongPassword: () => new Failure(403, 'The current password is wrong'),
  addressTaken: (cause?: unknown) => new Failure(409, 'This e-mail address is already registered', { cause }),
  notMigrated: (cause: unknown) =>
    new Failure(503, 'The database is not set up for this: `rowhouse migrate` has not run', { cause }),
  unreachable: (cause: unknown) => new Failure(503, 'The database cannot be reached at the moment', { cause }),
  noSecrets: () => new Failure(503, 'Sessions are not set up: SESSION_SECRETS is not set'),
  /** `field` is the name of the property, or a JSON pointer when it lies deeper; empty for the body itself. */
  faults: (faults: readonly Fault[], what = 'The body') =>
    new Failure(400, `${what} is not valid`, {
      errors: faults.map(({ pointer, message }) => ({ field: fieldOf(pointer), message })),
    }),
}

/** A pointer with a single token is the name of a property. */
const fieldOf = (pointer: string): string =>
  pointer.lastIndexOf('/') === 0 ? pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') : pointer

/** `{status: "success", statusCode, data}`, and more beside it. */
export function sendSuccess(
  response: ServerResponse,
  statusCode: number,
  data: unknown,
  more: Readonly<Record<string, unknown>> = {},
): void {
  send(response, statusCode, { status: 'success', statusCode, data, ...more }, {})
}

function send(
  response: ServerResponse,
  statusCode: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  const text = JSON.stringify(body)
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

export const notFound: RequestHandler = () => {
  throw new Failure(404, 'There is nothing at this address')
}

/**
 * Writes the answer to an error: `fail` with what the client did wrong, else `error` with nothing of the cause in it.
 * `onError` gets what is not the client's doing.
 */
export const errorResponder =
  (onError: (error: unknown) => void): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const failure = failureOf(error)
    if (!failure || failure.statusCode >= 500) onError(error)
    if (!failure) {
      send(response, 500, { status: 'error', statusCode: 500, message: 'Something went wrong on the server' }, {})
      return
    }
    const { statusCode, message, errors, headers } = failure
    const status = statusCode >= 500 ? 'error' : 'fail'
    send(response, statusCode, { status, statusCode, message, ...(errors && { errors }) }, headers)
  }

function failureOf(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error
  if (isNotMigrated(error)) return failures.notMigrated(error)
  if (isUnreachable(error)) return failures.unreachable(error)
  // The router's, for a path with broken percent-encoding.
  if (error instanceof URIError) return new Failure(400, 'The address is not valid')
  return undefined
}
