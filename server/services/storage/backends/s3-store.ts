// Keeps the bytes of objects in a bucket of an S3 server: `objects/<id>`. Large objects are uploaded in parts, of which one
// at a time is in memory.
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { S3Client } from '@aws-sdk/client-s3'
import {
  MissingBytesError,
  TooManyBytesError,
  type ByteRange,
  type ListedBytes,
  type ObjectKey,
  type ObjectStore,
  type PutOptions,
  type StoredBytes,
} from '../object-store.ts'
import { joinByCopying } from '../joined-bytes.ts'
import { StorageError } from '../storage-error.ts'
import { idOfBytes, versionOf } from './bytes-id.ts'
import { MeasuredSource } from './measured-source.ts'
import { composeParts } from './s3-compose.ts'
import { isMissing, isUnsupported, loadS3, quotedETag, type S3Library } from './s3-library.ts'
import type { S3Place, S3Target } from './s3-multipart.ts'
import { abortUnfinished } from './s3-remnants.ts'
import { traceOperations } from './s3-trace.ts'
import { uploadChunks } from './s3-upload.ts'

export type S3StoreSettings = {
  readonly bucket: string
  /** URL of the server; null for Amazon's. */
  readonly endpoint: string | null
  readonly region: string
  /** Milliseconds until a connection is open, and until a response begins. Defaults are for servers on the internet. */
  readonly connectionTimeout?: number
  readonly responseTimeout?: number
  /** How often a request is sent in total, if it fails. */
  readonly attempts?: number
}

const prefix = 'objects/'
/** The object that names the database. */
const markName = 'database'
const mebibyte = 1024 * 1024
/** Bytes that S3 copies in one request. Larger objects go through this server. */
const largestCopy = 5 * 1024 * mebibyte
/** Keys of a request to remove. */
const removedAtOnce = 1000
const mostConnections = 256

export class S3Store implements ObjectStore {
  readonly #client: S3Client
  readonly #library: S3Library
  readonly #bucket: string

  private constructor(client: S3Client, library: S3Library, bucket: string) {
    this.#client = client
    this.#library = library
    this.#bucket = bucket
  }

  /**
   * Connects to a server. Credentials are those that the AWS SDK finds: `AWS_ACCESS_KEY_ID` and others.
   *
   * @throws Error when the SDK is not installed, or when the server says that the bucket does not exist or is forbidden;
   *   a server that does not respond may do so later
   */
  static async open({
    bucket,
    endpoint,
    region,
    connectionTimeout = 5000,
    responseTimeout = 60_000,
    attempts = 3,
  }: S3StoreSettings): Promise<S3Store> {
    const library = await loadS3()
    const client = new library.S3Client({
      region,
      ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
      maxAttempts: attempts,
      // Servers other than Amazon's do not know the SDK's new checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout,
        requestTimeout: responseTimeout,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: mostConnections },
        httpsAgent: { maxSockets: mostConnections },
      },
    })
    traceOperations(client, { bucket, endpoint, region })
    const store = new S3Store(client, library, bucket)
    await store.#requireBucket().catch((error: unknown) => {
      client.destroy()
      throw error
    })
    return store
  }

  async #requireBucket(): Promise<void> {
    try {
      await this.#client.send(new this.#library.HeadBucketCommand({ Bucket: this.#bucket }))
    } catch (error) {
      const status = statusOf(error)
      if (status === 404) throw new Error(`the S3 bucket ${this.#bucket} does not exist`, { cause: error })
      if (status === 403) throw new Error(`the S3 server refuses access to ${this.#bucket}`, { cause: error })
      if (isCredentialsProblem(error)) throw new Error('there are no credentials for the S3 server', { cause: error })
    }
  }

  async put(key: ObjectKey, source: Readable, options: PutOptions): Promise<StoredBytes> {
    const { maxBytes, signal } = options
    const measured = new MeasuredSource(source, options)
    try {
      await uploadChunks(this.#target(key, options), maxBytes, measured.chunks())
    } catch (error) {
      if (measured.failure) throw measured.failure.error
      throw signal?.aborted === true ? signal.reason : storeError(error)
    }
    const lastModified = new Date()
    return { size: measured.size, eTag: measured.eTag, lastModified }
  }

  async get(key: ObjectKey, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
    const command = new this.#library.GetObjectCommand({
      ...this.#place(key),
      ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}),
    })
    try {
      const { Body } = await this.#client.send(command, signal ? { abortSignal: signal } : {})
      return Body as Readable
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : storeError(error)
    }
  }

  async copy(from: ObjectKey, to: ObjectKey): Promise<StoredBytes> {
    try {
      const { HeadObjectCommand, CopyObjectCommand } = this.#library
      const head = await this.#client.send(new HeadObjectCommand(this.#place(from)))
      const size = head.ContentLength ?? 0
      if (size > largestCopy) {
        const { ContentType: contentType = '', CacheControl: cacheControl = '' } = head
        const source = await this.get(from)
        try {
          return await this.put(to, source, { contentType, cacheControl, maxBytes: size })
        } finally {
          source.destroy()
        }
      }
      const { CopyObjectResult: result } = await this.#client.send(
        new CopyObjectCommand({ ...this.#place(to), CopySource: `${this.#bucket}/${this.#place(from).Key}` }),
      )
      return { size, eTag: quotedETag(result?.ETag ?? head.ETag), lastModified: result?.LastModified ?? new Date() }
    } catch (error) {
      throw storeError(error)
    }
  }

  compose(parts: readonly ObjectKey[], to: ObjectKey, options: PutOptions): Promise<StoredBytes> {
    return composeParts({
      target: this.#target(to, options),
      parts,
      maxBytes: options.maxBytes,
      place: (key) => this.#place(key),
      get: (key) => this.get(key),
    }).catch(async (error: unknown) => {
      if (options.signal?.aborted === true) throw options.signal.reason
      if (!isUnsupported(error)) throw storeError(error)
      // The server cannot copy parts of objects.
      return joinByCopying(this, parts, to, options)
    })
  }

  async remove(keys: readonly ObjectKey[]): Promise<void> {
    await this.removeListed(keys.map((key) => idOfBytes(key)).filter((id) => id !== undefined))
  }

  async *list(): AsyncIterable<ListedBytes> {
    let token: string | undefined
    do {
      const page = await this.#client.send(
        new this.#library.ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ContinuationToken: token }),
      )
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        const id = Key.slice(prefix.length)
        const version = versionOf(id)
        if (version !== undefined && LastModified) yield { id, version, lastModified: LastModified }
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (token !== undefined)
  }

  idOf(key: ObjectKey): string {
    return idOfBytes(key) ?? ''
  }

  async removeListed(ids: readonly string[]): Promise<void> {
    const { DeleteObjectCommand, DeleteObjectsCommand } = this.#library
    try {
      const [only, ...others] = ids
      if (only !== undefined && others.length === 0) {
        await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: prefix + only }))
        return
      }
      for (let start = 0; start < ids.length; start += removedAtOnce) {
        const Objects = ids.slice(start, start + removedAtOnce).map((id) => ({ Key: prefix + id }))
        const { Errors: errors = [] } = await this.#client.send(
          new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } }),
        )
        const [error] = errors
        if (error) throw new Error(`the S3 server did not remove ${errors.length} objects: ${error.Code}`)
      }
    } catch (error) {
      throw storeError(error)
    }
  }

  async removeRemnants(before: Date): Promise<void> {
    try {
      await abortUnfinished(this.#client, this.#library, { Bucket: this.#bucket, Prefix: prefix }, before)
    } catch (error) {
      // Such servers have rules that remove unfinished uploads.
      if (!isUnsupported(error)) throw storeError(error)
    }
  }

  async claim(database: string): Promise<boolean> {
    const mark = { Bucket: this.#bucket, Key: markName }
    try {
      const known = await this.#mark()
      if (known !== undefined) return known === database
      const { PutObjectCommand } = this.#library
      await this.#client
        .send(new PutObjectCommand({ ...mark, Body: database, IfNoneMatch: '*' }))
        .catch((error: unknown) => {
          // Another server has just done the same.
          if (statusOf(error) !== 412) throw error
        })
      return (await this.#mark()) === database
    } catch (error) {
      throw storeError(error)
    }
  }

  async #mark(): Promise<string | undefined> {
    try {
      const { Body } = await this.#client.send(
        new this.#library.GetObjectCommand({ Bucket: this.#bucket, Key: markName }),
      )
      return await text(Body as Readable)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  close(): Promise<void> {
    this.#client.destroy()
    return Promise.resolve()
  }

  #target(key: ObjectKey, options: S3Target['options']): S3Target {
    return { client: this.#client, library: this.#library, place: this.#place(key), options }
  }

  #place(key: ObjectKey): S3Place {
    const id = idOfBytes(key)
    if (id === undefined) throw new MissingBytesError()
    return { Bucket: this.#bucket, Key: prefix + id }
  }
}

const statusOf = (error: unknown): number | undefined =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode

const isCredentialsProblem = (error: unknown): boolean =>
  error instanceof Error && error.name === 'CredentialsProviderError'

/** Messages for clients. The SDK's messages contain addresses. */
function storeError(error: unknown): unknown {
  if (error instanceof StorageError || error instanceof MissingBytesError || error instanceof TooManyBytesError) {
    return error
  }
  if (isMissing(error)) return new MissingBytesError({ cause: error })
  return new StorageError(503, 'S3Error', 'The object store is not available at the moment', {
    httpStatus: 503,
    headers: { 'Retry-After': '2' },
    cause: error,
  })
}
