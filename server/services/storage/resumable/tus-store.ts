// The resumable uploads of one request, as the library of the tus protocol uses them.
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { DataStore, Upload } from '@tus/server'
import { joinByCopying } from '../joined-bytes.ts'
import type { ObjectKey, StoredBytes } from '../object-store.ts'
import type { StorageContext } from '../storage-context.ts'
import { IncomingParts } from './incoming-parts.ts'
import { ResumableUploads, type Part, type ResumableUpload } from './resumable-uploads.ts'
import { tusErrors } from './tus-error.ts'
import { parseUploadId, uploadIdText } from './upload-id.ts'

/**
 * Bytes of a part, and how many parts a large upload has at most. Pieces of Supabase's clients have 6 MiB: S3 takes them in one
 * request, and joins them without sending them back.
 */
const partSize = 6 * 1024 * 1024
const mostParts = 5000

/** An upload whose bytes are complete, with those that are not in `received`. */
export type CompleteUpload = {
  readonly upload: ResumableUpload
  readonly last: Part | undefined
  readonly length: number
}

/** Headers of an object. */
type ObjectFile = { readonly contentType: string; readonly cacheControl: string }

export class TusStore extends DataStore {
  readonly #context: Pick<StorageContext, 'store' | 'settings'>
  readonly #owner: () => string | null
  readonly uploads: ResumableUploads
  /** The last part of a complete upload. Its row is written together with that of the object. */
  #last: Part | undefined
  /** The length that this request declares, if nothing is missing then. */
  #declared: number | undefined

  /** @param owner of the caller: uploads of others do not exist for it */
  constructor(context: Pick<StorageContext, 'database' | 'store' | 'settings' | 'warn'>, owner: () => string | null) {
    super()
    this.#context = context
    this.#owner = owner
    this.uploads = new ResumableUploads(context)
    this.extensions = ['creation', 'creation-with-upload', 'creation-defer-length', 'termination', 'expiration']
  }

  override async create(upload: Upload): Promise<Upload> {
    const id = parseUploadId(upload.id)
    if (!id) throw tusErrors.notFound()
    await this.uploads.create({
      ...id,
      owner: this.#owner(),
      length: upload.size ?? null,
      metadata: upload.metadata ?? {},
    })
    upload.creation_date = new Date().toISOString()
    return upload
  }

  /** @throws 404, also for an upload of another owner */
  async find(text: string): Promise<ResumableUpload> {
    const id = parseUploadId(text)
    const upload = id && (await this.uploads.find(id.id))
    if (!upload || uploadIdText(upload) !== text || upload.owner !== this.#owner()) throw tusErrors.notFound()
    return upload
  }

  override async getUpload(id: string): Promise<Upload> {
    const { length, received, metadata, createdAt } = await this.find(id)
    return new Upload({
      id,
      offset: received,
      metadata: { ...metadata },
      creation_date: createdAt,
      ...(length === null ? {} : { size: length }),
    })
  }

  override async declareUploadLength(id: string, length: number): Promise<void> {
    const upload = await this.find(id)
    // An upload whose length is declared and whose bytes are there would count as complete before the object exists.
    if (upload.received === length) this.#declared = length
    else if (!(await this.uploads.declareLength(upload.id, length))) throw tusErrors.invalidLength()
  }

  /**
   * Stores what arrives, in parts. If the connection breaks, the parts until then are kept. The last part of an upload is
   * left to `complete`.
   *
   * @returns the new offset
   */
  override async write(source: Readable, id: string, offset: number): Promise<number> {
    const upload = await this.find(id)
    const { length } = upload
    const incoming = new IncomingParts(source)
    const size = Math.max(partSize, Math.ceil((length ?? 0) / mostParts))
    let position = offset
    while (!(await incoming.isAtEnd())) {
      const version = randomUUID()
      const stored = await this.#context.store.put(
        { bucket: upload.bucket, name: upload.name, version },
        incoming.next(length === null ? size : Math.min(size, length - position)),
        { contentType: '', cacheControl: '', maxBytes: size },
      )
      const part: Part = { start: position, size: stored.size, version }
      position += stored.size
      if (position === length) {
        // More bytes than declared are an error.
        if (!incoming.failure && (await incoming.isAtEnd()) && !incoming.failure) {
          this.#last = part
          return position
        }
        this.uploads.removeBytes(upload, [version])
        throw incoming.failure ? incoming.failure.error : tusErrors.sizeExceeded()
      }
      if (!(await this.uploads.addPart(upload, part))) throw tusErrors.offsetConflict()
    }
    if (incoming.failure) throw incoming.failure.error
    return position
  }

  /** The upload whose bytes are complete now. */
  async complete(id: string): Promise<CompleteUpload> {
    const upload = await this.find(id)
    const last = this.#last
    const length = upload.length ?? this.#declared ?? upload.received
    if (upload.isComplete || (last ? last.start : length) !== upload.received) {
      if (last) this.uploads.removeBytes(upload, [last.version])
      throw tusErrors.offsetConflict()
    }
    return { upload, last, length }
  }

  /**
   * Joins the parts to a new version of the object.
   *
   * @throws 409 if another request was faster, which removes the parts; 404 if the upload is removed meanwhile
   */
  async join(complete: CompleteUpload, version: string, file: ObjectFile): Promise<StoredBytes> {
    try {
      return await this.#join(complete, version, file)
    } catch (error) {
      const { isComplete, received } = await this.find(uploadIdText(complete.upload))
      throw isComplete || received !== complete.upload.received ? tusErrors.offsetConflict() : error
    }
  }

  async #join({ upload, last, length }: CompleteUpload, version: string, file: ObjectFile): Promise<StoredBytes> {
    const { store } = this.#context
    const { bucket, name } = upload
    const parts = [...(await this.uploads.parts(upload)), ...(last ? [last] : [])]
    const keys = parts.map((part): ObjectKey => ({ bucket, name, version: part.version }))
    const options = { ...file, maxBytes: length }
    const to = { bucket, name, version }
    const stored = store.compose
      ? await store.compose(keys, to, options)
      : await joinByCopying(store, keys, to, options)
    if (stored.size !== length) {
      await store.remove([to])
      throw new Error(`a resumable upload of ${length} bytes has parts of ${stored.size} bytes`)
    }
    return stored
  }

  override async remove(id: string): Promise<void> {
    if (!(await this.uploads.remove(await this.find(id)))) throw tusErrors.invalidTermination()
  }

  override getExpiration(): number {
    return this.#context.settings().storageTusUrlExpiryMs
  }

  override deleteExpired(): Promise<number> {
    return this.uploads.removeExpired(this.getExpiration())
  }
}
