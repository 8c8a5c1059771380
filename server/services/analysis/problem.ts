// Errors in FastAPI's format, as in the original service: `{detail}`, or `{detail: [{loc, msg, type}]}` for invalid
// fields. https://fastapi.tiangolo.com/tutorial/handling-errors/
import type { ServerResponse } from 'node:http'
import { Failure } from '../../http/envelope.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import { isNotMigrated, isOverloaded, isUnreachable } from '../../postgres/database-error.ts'
import { ApiError, ofCredential } from '../../rest/errors.ts'
import { sendWhole } from '../../common/incomplete-request.ts'
import { StorageError } from '../storage/storage-error.ts'
import { TaskError } from '../background/pool-options.ts'
import type { ImageFault } from './analyser/message.ts'

/** `schemas/validation-error.json` */
export type FieldProblem = {
  readonly type: string
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly input?: unknown
}

type ProblemHeaders = Readonly<Record<string, string>>

/** An error with its response. */
export class Problem extends Error {
  readonly status: number
  readonly detail: string | readonly FieldProblem[]
  readonly headers: ProblemHeaders

  constructor(status: number, detail: string | readonly FieldProblem[], headers: ProblemHeaders = {}, cause?: unknown) {
    super(typeof detail === 'string' ? detail : detail.map(({ msg }) => msg).join('; '), { cause })
    this.name = 'Problem'
    this.status = status
    this.detail = detail
    this.headers = headers
  }
}

/** The header `Retry-After`, in seconds. */
const retryAfter = (seconds: number): ProblemHeaders => ({ 'Retry-After': String(Math.max(1, Math.ceil(seconds))) })

export const problems = {
  missing: (...loc: readonly string[]) =>
    new Problem(422, [{ type: 'missing', loc: ['body', ...loc], msg: 'Field required', input: null }]),
  invalid: (type: string, loc: readonly (string | number)[], msg: string) => new Problem(422, [{ type, loc, msg }]),
  fileTooLarge: (limit: number) => new Problem(413, `Uploaded file exceeds the ${limit} byte limit.`),
  bodyTooLarge: (limit: number) => new Problem(413, `The request body exceeds the ${limit} byte limit.`),
  tooManyFiles: (limit: number) => new Problem(413, `Batch requests are limited to ${limit} files.`),
  unsupportedType: (type: string) =>
    new Problem(415, `Only JPEG, PNG and WebP images are supported, not ${JSON.stringify(type.slice(0, 60))}.`),
  undecodable: () => new Problem(400, 'Inference failed: Could not decode image'),
  invalidBase64: () => new Problem(400, 'Invalid base64 image payload.'),
  notAuthenticated: (why: string) => new Problem(401, why, { 'WWW-Authenticate': 'Bearer' }),
  tooManyRequests: (seconds: number) => new Problem(429, 'Too many images: try again later.', retryAfter(seconds)),
  overloaded: () => new Problem(503, 'The server is overloaded: try again later.', retryAfter(1)),
  busy: () => new Problem(503, 'Too many images are waiting: try again later.', retryAfter(2)),
  noModel: () => new Problem(503, 'No model is loaded, and this server requires one.'),
  unavailable: (message: string) => new Problem(503, message, retryAfter(2)),
}

/** The response to an expected error; undefined for an unexpected one. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof TaskError) return analysisProblem(error as TaskError<ImageFault>)
  if (error instanceof StorageError && error.statusCode < 500) {
    return new Problem(error.statusCode, `The image was not kept: ${error.message}.`, error.headers, error)
  }
  if (error instanceof StorageError && error.statusCode === 503) {
    return new Problem(503, 'The image was not kept: the storage service is not available.', error.headers, error)
  }
  // Errors of shared code: credentials, cookies, the database.
  if (error instanceof CredentialError) return problemOf(ofCredential(error))
  if (error instanceof Failure) return new Problem(error.statusCode, error.message, error.headers, error)
  if (error instanceof ApiError && error.status < 500) {
    return new Problem(error.status, error.message, Object.fromEntries(error.headers), error)
  }
  if (isNotMigrated(error)) return problems.unavailable('The database is not set up for storing runs.')
  if (isOverloaded(error)) return problems.overloaded()
  if (isUnreachable(error)) return problems.unavailable('The database cannot be reached at the moment.')
  if (error instanceof URIError) return new Problem(400, 'The URL is invalid.')
  return undefined
}

function analysisProblem(error: TaskError<ImageFault>): Problem {
  switch (error.failure) {
    case 'refused':
      return error.fault === 'too many pixels' ? new Problem(413, error.message) : problems.undecodable()
    case 'busy':
      return problems.busy()
    case 'too slow':
      return new Problem(504, error.message)
    case 'unavailable':
      return problems.unavailable(error.message)
    case 'failed':
      return new Problem(500, error.message)
    default:
      return error.failure satisfies never
  }
}

export const internalError = (): Problem => new Problem(500, 'Internal Server Error')

/** Sends JSON that must not be cached. Discards the rest of the request body, so that the client sees the response. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: ProblemHeaders = {}): void {
  sendWhole(response, status, Buffer.from(JSON.stringify(value)), {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    ...headers,
  })
}
