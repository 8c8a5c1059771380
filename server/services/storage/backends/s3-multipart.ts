// An upload to an S3 bucket in parts, which becomes an object when it is completed.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import type { PutOptions } from '../object-store.ts'
import { quotedETag, type S3Library } from './s3-library.ts'

export type S3Place = { readonly Bucket: string; readonly Key: string }

/** An object that is about to be written. */
export type S3Target = {
  readonly client: S3Client
  readonly library: S3Library
  readonly place: S3Place
  readonly options: Pick<PutOptions, 'contentType' | 'cacheControl' | 'signal'>
}

/** Bytes that S3 requires of every part but the last, and the most parts of an object. */
export const leastPart = 5 * 1024 * 1024
export const mostParts = 10_000

/** What the object has besides its bytes. */
const s3Headers = ({
  contentType,
  cacheControl,
}: S3Target['options']): { readonly ContentType?: string; readonly CacheControl?: string } => ({
  ...(contentType === '' ? {} : { ContentType: contentType }),
  ...(cacheControl === '' ? {} : { CacheControl: cacheControl }),
})

/** The options of a request that the signal cancels. */
const cancelledBy = (signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } =>
  signal ? { abortSignal: signal } : {}

/** Writes an object in one request. Returns its ETag. */
export async function putWhole({ client, library, place, options }: S3Target, body: Buffer): Promise<string> {
  const command = new library.PutObjectCommand({ ...place, ...s3Headers(options), Body: body })
  const { ETag } = await client.send(command, cancelledBy(options.signal))
  return quotedETag(ETag)
}

/** Parts are added one after another. All methods but `abort` throw the errors of the SDK. */
export class S3Multipart {
  readonly #target: S3Target
  readonly #upload: S3Place & { readonly UploadId: string | undefined }
  readonly #parts: CompletedPart[] = []

  private constructor(target: S3Target, id: string | undefined) {
    this.#target = target
    this.#upload = { ...target.place, UploadId: id }
  }

  /** The signal does not cancel this request, nor `complete`: their effect would be unknown. */
  static async begin(target: S3Target): Promise<S3Multipart> {
    const { client, library, place, options } = target
    const command = new library.CreateMultipartUploadCommand({ ...place, ...s3Headers(options) })
    const { UploadId } = await client.send(command)
    return new S3Multipart(target, UploadId)
  }

  /** Sends the next part; the SDK repeats failed requests. The bytes must not change until this has settled. */
  async add(body: Buffer): Promise<void> {
    const { client, library, options } = this.#target
    const PartNumber = this.#parts.length + 1
    const command = new library.UploadPartCommand({ ...this.#upload, PartNumber, Body: body })
    const { ETag } = await client.send(command, cancelledBy(options.signal))
    this.#parts.push({ PartNumber, ETag })
  }

  /** Makes an object the next part. */
  async copy({ Bucket, Key }: S3Place): Promise<void> {
    const { client, library, options } = this.#target
    const PartNumber = this.#parts.length + 1
    const command = new library.UploadPartCopyCommand({ ...this.#upload, PartNumber, CopySource: `${Bucket}/${Key}` })
    const { CopyPartResult: result } = await client.send(command, cancelledBy(options.signal))
    this.#parts.push({ PartNumber, ETag: result?.ETag })
  }

  /** Creates the object. The server compares the ETag of each part. Returns the ETag of the object. */
  async complete(): Promise<string> {
    const { client, library, options } = this.#target
    options.signal?.throwIfAborted()
    const MultipartUpload = { Parts: this.#parts }
    const command = new library.CompleteMultipartUploadCommand({ ...this.#upload, MultipartUpload })
    const { ETag } = await client.send(command)
    return quotedETag(ETag)
  }

  /** Removes the parts. If that fails, they are left to `removeRemnants`. */
  async abort(): Promise<void> {
    const { client, library } = this.#target
    await client.send(new library.AbortMultipartUploadCommand(this.#upload)).catch(() => undefined)
  }
}
