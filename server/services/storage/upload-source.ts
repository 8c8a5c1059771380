// What a request uploads: raw bytes, or the file of a form.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { cacheControlOf } from './cache-control.ts'
import { gatheredBytes } from './gathered-bytes.ts'
import { storageErrors } from './storage-error.ts'
import { decodedMetadata, parseUserMetadata, type UserMetadata } from './user-metadata.ts'

export type UploadSource = {
  /** The media type, as the client claims it. */
  readonly contentType: string
  readonly cacheControl: string
  readonly userMetadata: UserMetadata | undefined
  /** `X-Robots-Tag` of responses with the object. */
  readonly xRobotsTag: string | undefined
  /** Bytes of the request's body. Undefined if it arrives in chunks. */
  readonly declaredLength: number | undefined
  /** Whether `declaredLength` is that of the object. */
  readonly isRaw: boolean
  /** Fails unless the body arrives completely. */
  readonly bytes: Readable
  /** Stops reading, so that the rest of the request can be discarded. */
  readonly stop: () => void
}

/** Characters of a media type, which becomes a header of every download: clients refuse long ones. */
const longestType = 1000

/** https://www.rfc-editor.org/rfc/rfc9110#section-8.3.1 */
const mediaType = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;.*)?$/

/**
 * Reads the beginning of an upload. The bytes are left in the request until they are read.
 *
 * @throws StorageError 400 for a form without a file, 415 for a malformed media type; those of metadata
 */
export async function readUpload(request: IncomingMessage): Promise<UploadSource> {
  const { headers } = request
  const given = headers['content-type']
  const declared = headers['content-length']
  const common = {
    xRobotsTag: robotsTag(headers['x-robots-tag']),
    declaredLength: declared === undefined ? undefined : Number(declared),
  }
  if (given?.toLowerCase().startsWith('multipart/form-data') !== true) {
    const contentType = given ?? 'application/octet-stream'
    requireMediaType(contentType)
    const cacheControl = cacheControlOf(headers['cache-control'])
    const metadata = headers['x-metadata']
    const bytes = gatheredBytes(request)
    return {
      ...common,
      contentType,
      isRaw: true,
      cacheControl,
      userMetadata: typeof metadata === 'string' ? decodedMetadata(metadata) : undefined,
      bytes,
      stop: () => void bytes.destroy(),
    }
  }
  const { readForm } = await import('./upload-form.ts')
  const { fields, fileType, bytes, stop } = await readForm(request)
  try {
    const named = fields.get('contentType') ?? ''
    const contentType = named === '' ? fileType : named
    requireMediaType(contentType)
    const cacheControl = cacheControlOf(fields.get('cacheControl'))
    const metadata = fields.get('metadata') ?? fields.get('userMetadata')
    return {
      ...common,
      contentType,
      isRaw: false,
      cacheControl,
      userMetadata: metadata === undefined ? undefined : parseUserMetadata(metadata),
      bytes,
      stop,
    }
  } catch (error) {
    stop()
    throw error
  }
}

/** Rules for search engines, separated by commas: `noindex, max-snippet: 20`. */
const robotsRules = /^[a-z_-]+(?:: ?[\w :.+-]+)?(?:, ?[a-z_-]+(?:: ?[\w :.+-]+)?)*$/i

function robotsTag(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  if (header.length > 200 || !robotsRules.test(header)) throw storageErrors.invalidRobotsTag()
  return header
}

/** @throws StorageError 415 for a malformed media type, and for a long one */
export function requireMediaType(type: string): void {
  if (type.length > longestType || !mediaType.test(type)) throw storageErrors.invalidContentType()
}
