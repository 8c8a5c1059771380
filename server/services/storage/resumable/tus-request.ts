// Handles a request of a resumable upload. The library `@tus/server` knows the protocol; here are permissions, limits and
// the object at the end. https://tus.io/protocols/resumable-upload
import { randomUUID } from 'node:crypto'
import { Metadata, Server, type ServerOptions, type Upload } from '@tus/server'
import { leavesConnection } from '../../../postgres/database-error.ts'
import { AcceptedVersion, bucketLimits, largestUpload, requireAllowedFile, type BucketLimits } from '../bucket-rule.ts'
import { cacheControlOf } from '../cache-control.ts'
import { requireBucketName } from '../names.ts'
import { metadataText } from '../object-metadata.ts'
import { objectErrorOf, removeLater, requirePermission, type NewObject, type Replaceable } from '../object-writing.ts'
import { StorageError, storageErrors } from '../storage-error.ts'
import { storagePath, type StorageCall } from '../dialect.ts'
import { requireMediaType } from '../upload-source.ts'
import { parseUserMetadata } from '../user-metadata.ts'
import { TusError, tusErrors } from './tus-error.ts'
import { hasOtherObject, type ResumableUploads } from './resumable-uploads.ts'
import { TusStore, type CompleteUpload } from './tus-store.ts'
import {
  decodeUploadId,
  encodeUploadId,
  parseUploadId,
  resumablePath,
  uploadIdText,
  type UploadId,
} from './upload-id.ts'

type TusMetadata = Readonly<Record<string, string | null>>
type Hooks = Omit<ServerOptions, 'path' | 'locker'>
type HookError = { readonly status_code: number; readonly body: string }

/** How often another user may put a different object there until the client has to try again. */
const attempts = 10

type Finished = Awaited<ReturnType<ResumableUploads['finish']>>

const defaultType = 'application/octet-stream'

/** Rows, not locks, decide which of several requests adds its bytes. */
const noLocker = {
  newLock: () => ({ lock: () => Promise.resolve(), unlock: () => Promise.resolve() }),
}

/**
 * Handles a request.
 *
 * @param isSigned whether the token of a signed URL in `X-Signature` permits the upload, instead of the caller's policies
 */
export async function handleTus(call: StorageCall<undefined>, isSigned: boolean): Promise<undefined> {
  const { request, response } = call
  const path = storagePath + resumablePath
  const upload = new TusUpload(call, isSigned)
  const server = new Server({
    path,
    datastore: upload.store,
    locker: noLocker,
    ...upload.hooks(path + (isSigned ? '/sign' : '')),
  })
  await server.handle(request, response)
}

/** The permission to upload, as a request has it. */
type Permission = { readonly owner: string | null; readonly isUpsert: boolean }

class TusUpload {
  readonly #call: StorageCall<undefined>
  readonly #isSigned: boolean
  readonly store: TusStore
  #permission: Permission
  /** What the upload may replace by the policies of the caller. */
  #replaceable: Replaceable | undefined

  constructor(call: StorageCall<undefined>, isSigned: boolean) {
    this.#call = call
    this.#isSigned = isSigned
    this.#permission = { owner: call.caller.owner, isUpsert: call.request.headers['x-upsert'] === 'true' }
    this.store = new TusStore(call.context, () => this.#permission.owner)
  }

  /** @param path of new uploads */
  hooks(path: string): Hooks {
    const { response, path: parameters } = this.#call
    return {
      disableTerminationForFinishedUploads: true,
      respectForwardedHeaders: true,
      allowedHeaders: ['Authorization', 'ApiKey', 'X-Upsert', 'X-Signature', 'Upload-Expires'],
      exposedHeaders: ['Upload-Expires', 'ETag'],
      // The router has decided on the origin.
      allowedOrigins: () => response.hasHeader('Access-Control-Allow-Origin'),
      getFileIdFromRequest: () => decodeUploadId(parameters.id ?? ''),
      namingFunction: (_request, metadata) => this.#newId(metadata),
      generateUrl: (_request, { proto, host, id }) => this.#addressOf(`${proto}://${host}`, path, id),
      maxSize: (_request, id) => this.#maxSize(id),
      onIncomingRequest: (_request, id) => this.#authorize(id),
      onUploadCreate: (_request, upload) => this.#beforeCreation(upload),
      onUploadFinish: (_request, { id }) => this.#finish(id),
      onResponseError: (_request, error) => this.#errorOf(error),
    }
  }

  /** @throws StorageError 400 without the names of the object, or with invalid ones */
  async #newId(metadata: TusMetadata | undefined): Promise<string> {
    if (!metadata) throw storageErrors.invalidRequest('Metadata header is required')
    const [bucket, name] = [metadata.bucketName ?? '', metadata.objectName ?? '']
    requireBucketName(bucket)
    await this.#call.context.names.requireNew(name)
    return uploadIdText({ bucket, name, id: randomUUID() })
  }

  #addressOf(origin: string, path: string, id: string): string {
    const { storagePublicUrl } = this.#call.context.settings()
    const prefix = storagePublicUrl === null ? origin + path : storagePublicUrl + withoutMount(path)
    const { 'x-forwarded-host': host, 'x-forwarded-port': port } = this.#call.request.headers
    const address = new URL(`${prefix}/${encodeUploadId(id)}`)
    if (storagePublicUrl === null && host !== undefined && typeof port === 'string' && /^\d{1,5}$/.test(port)) {
      // A port that is usual for the scheme is left out.
      address.port = ['80', '443'].includes(port) ? address.port : port
    }
    return address.href
  }

  /** Bytes of an upload at most; the library takes 0 for no limit. */
  async #maxSize(text: string | null): Promise<number> {
    const { context } = this.#call
    if (text === null) return context.settings().storageFileSizeLimit
    const { bucket, name } = idOf(text)
    return Math.max(1, largestUpload(context, await bucketLimits(context, bucket), name))
  }

  /** @throws StorageError unless the upload is permitted */
  async #authorize(text: string): Promise<void> {
    const { context, scope, request } = this.#call
    const { bucket, name } = idOf(text)
    const { 'upload-length': length, 'upload-offset': offset } = request.headers
    // The library reads 1e+21 as 1.
    if (isExponent(length)) throw tusErrors.invalidLength()
    if (isExponent(offset)) throw tusErrors.offsetConflict()
    if (this.#isSigned) {
      const { 'x-signature': signature } = request.headers
      if (typeof signature !== 'string' || signature === '') {
        throw storageErrors.invalidSignature('Missing x-signature header')
      }
      const { owner, upsert } = await context.signedTokens.verifyUpload(signature, `${bucket}/${name}`)
      this.#permission = { owner: owner ?? null, isUpsert: upsert }
      return
    }
    if (request.method === 'OPTIONS') return
    if (request.method === 'HEAD') {
      await context.database.requireSession(scope)
      return
    }
    const upload = request.method === 'POST' ? this.#announced() : await this.store.find(text)
    await this.#requirePermission(this.#objectOf(bucket, name, upload.metadata), upload.metadata, upload.length)
  }

  async #requirePermission(object: NewObject, { contentType }: TusMetadata, length: number | null): Promise<void> {
    const { context, scope } = this.#call
    this.#replaceable = await requirePermission({ context, scope }, object, {
      ...(contentType == null ? {} : { mimetype: contentType }),
      ...(length === null ? {} : { contentLength: length }),
    })
  }

  /** What the request for a new upload says of it. */
  #announced(): { readonly metadata: TusMetadata; readonly length: number | null } {
    const { 'upload-metadata': metadata, 'upload-length': length } = this.#call.request.headers
    return {
      metadata: typeof metadata === 'string' ? Metadata.parse(metadata) : {},
      length: length === undefined ? null : Number(length),
    }
  }

  #objectOf(bucket: string, name: string, metadata: TusMetadata): NewObject {
    return { bucket, name, ...this.#permission, userMetadata: parseUserMetadata(metadata.metadata ?? '') }
  }

  /** @throws StorageError 413, 415 */
  async #beforeCreation({ id, size, metadata = {} }: Upload): Promise<{ metadata: Record<string, string | null> }> {
    const { bucket, name } = idOf(id)
    await this.#requireAllowed(bucket, name, size ?? 0, typeOf(metadata))
    return { metadata: { ...metadata, cacheControl: cacheControlOf(metadata.cacheControl) } }
  }

  async #requireAllowed(bucket: string, name: string, size: number, type: string): Promise<BucketLimits> {
    const { context } = this.#call
    const limits = await bucketLimits(context, bucket)
    requireMediaType(type)
    requireAllowedFile(context, limits, name, { size, type })
    return limits
  }

  /** Creates the object. */
  async #finish(id: string): Promise<{ headers: Record<string, string> }> {
    const { context } = this.#call
    const complete = await this.store.complete(id)
    const { upload, last, length } = complete
    const { bucket, name, metadata } = upload
    const file = { contentType: typeOf(metadata), cacheControl: cacheControlOf(metadata.cacheControl) }
    const key = { bucket, name, version: randomUUID() }
    try {
      const limits = await this.#requireAllowed(bucket, name, length, file.contentType)
      const stored = await this.store.join(complete, key.version, file)
      const checked = { size: stored.size, type: file.contentType }
      const accepted = await AcceptedVersion.stored(context, limits, key, checked).catch((error: unknown) => {
        removeLater(context, key)
        throw error
      })
      const finished = await this.#write(complete, accepted, metadataText(stored, file)).catch((error: unknown) => {
        // After a lost connection, the row may be there: the bytes are left to the sweep.
        if (error instanceof StorageError || leavesConnection(error)) removeLater(context, key)
        throw error
      })
      if (!finished) {
        removeLater(context, key)
        throw tusErrors.offsetConflict()
      }
      if (finished.previous !== null) removeLater(context, { bucket, name, version: finished.previous })
    } finally {
      if (last) this.store.uploads.removeBytes(upload, [last.version])
    }
    await this.store.uploads.removeParts(upload).catch(context.onError)
    return { headers: { 'Tus-Complete': '1' } }
  }

  /** Writes the row. If another user has put a different object there meanwhile, policies decide again. */
  async #write({ upload, length }: CompleteUpload, version: AcceptedVersion, metadata: string): Promise<Finished> {
    const object = this.#objectOf(upload.bucket, upload.name, upload.metadata)
    const { owner, isUpsert, userMetadata = {} } = object
    for (let attempt = 0; attempt < attempts; attempt++) {
      const row = { owner, isUpsert, version, length, metadata, replaceable: this.#replaceable }
      try {
        const finishing = { ...row, userMetadata: JSON.stringify(userMetadata) }
        return await this.store.uploads.finish(upload, upload.received, finishing, this.#call.scope)
      } catch (error) {
        if (!hasOtherObject(error)) throw error
        await this.#requirePermission(object, upload.metadata, length)
      }
    }
    throw storageErrors.resourceLocked()
  }

  /** The status and the text of an error. Those of the library are plain objects, which have both. */
  #errorOf(error: Error | HookError): HookError | undefined {
    if (!(error instanceof Error)) return undefined
    if (isHookError(error)) return error
    const known = objectErrorOf(error)
    if (known.statusCode >= 500) this.#call.context.onError(known.cause ?? error)
    for (const [name, value] of Object.entries(known.headers)) this.#call.response.setHeader(name, value)
    return { status_code: known.statusCode, body: known.message }
  }
}

/** Errors of the library, too, are partly instances of Error. */
const isHookError = (error: Error): error is Error & HookError =>
  error instanceof TusError || ('status_code' in error && 'body' in error)

const isExponent = (header: string | readonly string[] | undefined): boolean => String(header).includes('e+')

/** `/storage/v1/upload` -> `/upload` */
const withoutMount = (path: string): string => path.slice(storagePath.length)

function idOf(text: string): UploadId {
  const id = parseUploadId(text)
  if (!id) throw storageErrors.invalidRequest('Invalid upload id')
  return id
}

const typeOf = ({ contentType }: TusMetadata): string =>
  contentType == null || contentType === '' ? defaultType : contentType
