// Requests to `/storage/v1` of a running service.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication, type Application } from './application.ts'
import { startBackend, type TestBackend } from './storage-backends.ts'
import { createMigratedDatabase, type MigratedDatabase } from './database.ts'
import { bearer } from './token.ts'

export type StorageAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly bytes: Buffer
  /** The body, if it is JSON. */
  readonly json: unknown
}

/** A role, or a user of the role `authenticated` by id. Undefined: without credentials. */
export type StorageCallerName = 'service_role' | 'anon' | `${string}-${string}` | undefined

export type AskStorage = (
  method: string,
  path: string,
  more?: {
    readonly as?: StorageCallerName
    /** Bytes, text or a form as they are; anything else as JSON. */
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
  },
) => Promise<StorageAnswer>

/** The `Authorization` header of a caller. */
export const storageBearer = (as: NonNullable<StorageCallerName>): Promise<string> =>
  as.includes('-') ? bearer('authenticated', { sub: as }) : bearer(as)

/** @param url of the service, without `/storage/v1` */
export const askStorage =
  (url: string): AskStorage =>
  async (method, path, { as, body, headers = {} } = {}) => {
    const isPlain =
      typeof body === 'string' ||
      body instanceof Uint8Array ||
      body instanceof FormData ||
      body instanceof ReadableStream
    const response = await fetch(`${url}/storage/v1${path}`, {
      method,
      headers: {
        ...(body === undefined || isPlain ? {} : { 'Content-Type': 'application/json' }),
        ...(as === undefined ? {} : { Authorization: await storageBearer(as) }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isPlain ? body : JSON.stringify(body), duplex: 'half' }),
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isJson = response.headers.get('content-type')?.includes('json') === true && bytes.length > 0
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      text: bytes.toString(),
      json: isJson ? (JSON.parse(bytes.toString()) as unknown) : undefined,
    }
  }

export type TestStorage = Omit<TestBackend, 'environment'> & {
  readonly ask: AskStorage
  readonly url: string
  readonly database: MigratedDatabase
  readonly application: Application
  /** Folder of the objects; empty if they are on S3. */
  readonly folder: string
}

/** Starts the service with an empty store and a database of its own, for the duration of a test. */
export async function startStorageService(t: Test, env: Environment = {}): Promise<TestStorage> {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { environment, ...backend } = await startBackend(t)
  const application = await startApplication(t, database.authenticatorUri, {
    ...environment,
    ...env,
  })
  return { ask: askStorage(application.url), url: application.url, database, application, ...backend }
}

/** The body of an error. */
export const storageFault = (statusCode: number, error: string, message: string, code: string) => ({
  statusCode: String(statusCode),
  error,
  message,
  code,
})

/** Bodies of the most frequent errors. */
export const storageFaults = {
  noBucket: storageFault(404, 'Bucket not found', 'Bucket not found', 'NoSuchBucket'),
  noObject: storageFault(404, 'not_found', 'Object not found', 'NoSuchKey'),
  exists: storageFault(409, 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'),
  bucketExists: storageFault(409, 'Duplicate', 'The resource already exists', 'BucketAlreadyExists'),
  rowSecurity: storageFault(403, 'Unauthorized', 'new row violates row-level security policy', 'AccessDenied'),
  noToken: storageFault(403, 'Unauthorized', 'Invalid Compact JWS', 'AccessDenied'),
  bucketName: storageFault(400, 'Invalid Input', 'Bucket name invalid', 'InvalidBucketName'),
  tooLarge: storageFault(413, 'Payload too large', 'The object exceeded the maximum allowed size', 'EntityTooLarge'),
  contentType: storageFault(415, 'invalid_mime_type', 'Invalid Content-Type header', 'InvalidMimeType'),
  range: storageFault(416, 'invalid_range', 'invalid range provided', 'InvalidRange'),
  mimeType: (type: string) =>
    storageFault(415, 'invalid_mime_type', `mime type ${type} is not supported`, 'InvalidMimeType'),
  key: (name: string) => storageFault(400, 'InvalidKey', `Invalid key: ${name}`, 'InvalidKey'),
  token: (message: string) => storageFault(403, 'Unauthorized', message, 'AccessDenied'),
  validation: (message: string) => storageFault(400, 'Error', message, 'InvalidRequest'),
} as const
