// Errors of `/storage/v1`. Codes, statuses and messages are those of Supabase's storage, because clients depend on them.
import type { StorageErrorCode } from './storage-error-codes.ts'

export type StorageErrorParts = {
  /** The member `error` of the body. By default the code. */
  readonly error?: string
  /** HTTP status. By default 400, and 500 for `statusCode` 500; the body has the real one. */
  readonly httpStatus?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** Ends the request with an error response. */
export class StorageError extends Error {
  /** The real status, which is text in the body. */
  readonly statusCode: number
  /** `NoSuchKey` and the like. */
  readonly code: StorageErrorCode
  readonly error: string
  readonly httpStatus: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    statusCode: number,
    code: StorageErrorCode,
    message: string,
    { error = code, httpStatus = statusCode === 500 ? 500 : 400, headers = {}, cause }: StorageErrorParts = {},
  ) {
    super(message, { cause })
    this.name = 'StorageError'
    this.statusCode = statusCode
    this.code = code
    this.error = error
    this.httpStatus = httpStatus
    this.headers = headers
  }
}

/** The HTTP framework of the original has this name for the errors of bodies. */
const bodyError = 'FastifyError'

/** Errors that several routes have. */
export const storageErrors = {
  noSuchBucket: () => new StorageError(404, 'NoSuchBucket', 'Bucket not found', { error: 'Bucket not found' }),
  noSuchKey: (cause?: unknown) => new StorageError(404, 'NoSuchKey', 'Object not found', { error: 'not_found', cause }),
  /** The row exists, but its bytes do not. */
  noBytes: (cause?: unknown) =>
    new StorageError(404, 'NoSuchKey', 'The resource was not found', {
      error: 'Not found',
      headers: { 'Cache-Control': 'no-store' },
      cause,
    }),
  keyExists: (cause?: unknown) =>
    new StorageError(409, 'KeyAlreadyExists', 'The resource already exists', { error: 'Duplicate', cause }),
  bucketExists: (cause?: unknown) =>
    new StorageError(409, 'BucketAlreadyExists', 'The resource already exists', { error: 'Duplicate', cause }),
  resourceExists: (cause?: unknown) =>
    new StorageError(409, 'ResourceAlreadyExists', 'The resource already exists', { error: 'Duplicate', cause }),
  accessDenied: (message = 'Access denied', cause?: unknown) =>
    new StorageError(403, 'AccessDenied', message, { error: 'Unauthorized', cause }),
  rowSecurity: (cause?: unknown) =>
    new StorageError(403, 'AccessDenied', 'new row violates row-level security policy', {
      error: 'Unauthorized',
      cause,
    }),
  wrongRole: () =>
    new StorageError(403, 'AccessDenied', 'Access denied: Invalid role', { error: 'Unauthorized', httpStatus: 403 }),
  invalidKey: (key: string) => new StorageError(400, 'InvalidKey', `Invalid key: ${key}`),
  invalidBucketName: () =>
    new StorageError(400, 'InvalidBucketName', 'Bucket name invalid', { error: 'Invalid Input' }),
  tooLarge: (what = 'object', limit = 'the maximum allowed size') =>
    new StorageError(413, 'EntityTooLarge', `The ${what} exceeded ${limit}`, { error: 'Payload too large' }),
  invalidFileSizeLimit: () =>
    new StorageError(400, 'InvalidRequest', 'Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B'),
  invalidMimeType: (type: string) =>
    new StorageError(415, 'InvalidMimeType', `mime type ${type} is not supported`, { error: 'invalid_mime_type' }),
  otherContent: (type: string) =>
    new StorageError(415, 'InvalidMimeType', `mime type ${type} is not that of the content, which is markup`, {
      error: 'invalid_mime_type',
    }),
  invalidContentType: () =>
    new StorageError(415, 'InvalidMimeType', 'Invalid Content-Type header', { error: 'invalid_mime_type' }),
  invalidRobotsTag: () =>
    new StorageError(400, 'InvalidRequest', 'Invalid X-Robots-Tag header: its rules are malformed', {
      error: 'invalid_x_robots_tag',
    }),
  bucketNotEmpty: () => new StorageError(409, 'ResourceNotEmpty', 'The bucket you tried to delete is not empty'),
  noContent: (message = 'No content provided', cause?: unknown) =>
    new StorageError(400, 'InvalidRequest', message, { cause }),
  invalidRequest: (message: string) => new StorageError(400, 'InvalidRequest', message),
  invalidParameter: (parameter: string, message = `Invalid Parameter ${parameter}`) =>
    new StorageError(400, 'InvalidParameter', message),
  /** A fault of the body, the query string or the headers: `body/expiresIn must be integer`. */
  validation: (message: string) => new StorageError(400, 'InvalidRequest', message, { error: 'Error' }),
  emptyBody: () =>
    new StorageError(400, 'InvalidRequest', "Body cannot be empty when content-type is set to 'application/json'", {
      error: bodyError,
    }),
  invalidJson: () =>
    new StorageError(400, 'InvalidRequest', "Body is not valid JSON but content-type is set to 'application/json'", {
      error: bodyError,
    }),
  bodyTooLarge: () =>
    new StorageError(413, 'EntityTooLarge', 'Request body is too large', { error: bodyError, httpStatus: 413 }),
  invalidJwt: (message: string) => new StorageError(400, 'InvalidJWT', message),
  invalidSignature: (message = 'Invalid signature') => new StorageError(400, 'InvalidSignature', message),
  relatedResourceMissing: (cause?: unknown) =>
    new StorageError(404, 'InvalidRequest', 'The related resource does not exist', { cause }),
  /** @param size bytes of the object */
  invalidRange: (size: number) =>
    new StorageError(416, 'InvalidRange', 'invalid range provided', {
      error: 'invalid_range',
      httpStatus: 416,
      headers: { 'Content-Range': `bytes */${size}` },
    }),
  notFound: (method: string, target: string) =>
    new StorageError(404, 'InvalidRequest', `Route ${method}:${target} not found`, {
      error: 'Not Found',
      httpStatus: 404,
    }),
  resourceLocked: (cause?: unknown) => new StorageError(423, 'ResourceLocked', 'The resource is locked', { cause }),
  internal: (cause: unknown) =>
    new StorageError(500, 'InternalError', 'Internal Server Error', { error: 'Internal', cause }),
  noSpace: (cause: unknown) =>
    new StorageError(507, 'InternalError', 'The server has no space left for the object', {
      error: 'Insufficient Storage',
      httpStatus: 507,
      cause,
    }),
  overloaded: (cause?: unknown) =>
    new StorageError(503, 'SlowDown', 'The server is overloaded: try again later', {
      httpStatus: 503,
      headers: { 'Retry-After': '1' },
      cause,
    }),
  databaseUnavailable: (cause: unknown) =>
    new StorageError(503, 'DatabaseError', 'The database is not available at the moment', {
      httpStatus: 503,
      headers: { 'Retry-After': '1' },
      cause,
    }),
} as const
