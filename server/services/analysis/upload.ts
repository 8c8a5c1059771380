// Reads the images of a request: multipart, a single image as the body, or JSON.
import type { IncomingMessage } from 'node:http'
import { readJsonBytes } from '../../text/json-text.ts'
import type { BodyShare } from '../../rest/request/body-budget.ts'
import { decodeBase64Image } from './base64-image.ts'
import { looksLikeImage, mediaTypeOf } from './image-type.ts'
import { readMultipart } from './multipart.ts'
import { Problem, problems } from './problem.ts'
import { receive } from './receive.ts'
import { optionNames } from './store-options.ts'
import type { Upload, UploadSettings } from './uploaded-images.ts'

/** An upload whose memory is reserved until it is released. */
export type HeldUpload = Upload & { readonly release: () => void }

/** Maximum bytes of JSON besides the image. */
const jsonOverhead = 64 * 1024

const none: Upload = { images: [], fields: new Map() }

/**
 * Receives the images of a request.
 *
 * @returns no images for a body of another type or an empty one
 * @throws Problem 400 for a body that does not match its type, 413 for one that is too large, 415 for one with a content
 *   encoding, 422 for invalid JSON, 503 when too many uploads arrive at once; ClientGone
 */
export async function readUpload(request: IncomingMessage, settings: UploadSettings): Promise<HeldUpload> {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Problem(415, 'The content encoding of the body is not supported.')
  }
  const share = settings.budget.open()
  const release = (): void => share.release()
  try {
    const { images, fields } = await uploadOf(request, settings, share)
    return { images, fields, release }
  } catch (error) {
    release()
    throw error
  }
}

async function uploadOf(request: IncomingMessage, settings: UploadSettings, share: BodyShare): Promise<Upload> {
  const type = mediaTypeOf(request.headers['content-type'])
  const { fileLimit, bodyLimit, acceptsSingle } = settings
  if (type === 'multipart/form-data') return readMultipart(request, settings, share)
  if (!acceptsSingle) return none
  if (type === 'application/json') {
    const limit = Math.min(bodyLimit, Math.ceil(fileLimit / 3) * 4 + jsonOverhead)
    return fromJson(await receive(request, limit, share, () => problems.fileTooLarge(fileLimit)), fileLimit)
  }
  const isBinary = type.startsWith('image/') || type === 'application/octet-stream'
  if (!isBinary) return none
  const limit = Math.min(bodyLimit, fileLimit)
  const bytes = await receive(request, limit, share, () => problems.fileTooLarge(fileLimit))
  // Some HTTP clients also send this type without a file.
  if (type === 'application/octet-stream' && !looksLikeImage(bytes)) return none
  return { ...none, images: [{ name: '', type, bytes }] }
}

/** More than an upload has; see `readJsonBytes`. */
const mostSigns = 1000

/** `{image_base64, store?, image_source?, image_uri?, keep_image?}` */
function fromJson(body: Buffer, fileLimit: number): Upload {
  const fault = (message: string): Problem => problems.invalid('json_invalid', ['body'], message)
  const reading = readJsonBytes(body, mostSigns)
  if (reading.kind === 'fault') throw fault(`The body ${reading.fault}`)
  const { value } = reading
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault('The body is not an object')
  const fields = new Map<string, readonly string[]>()
  for (const [name, member] of Object.entries(value)) {
    if (name === 'image_base64' || member === null) continue
    // An option that is dropped would be an image that is not stored.
    if (typeof member === 'object' && optionNames.has(name)) {
      throw problems.invalid('value_error', ['body', name], 'Input should be text, a number or a boolean')
    }
    fields.set(name, [String(member)])
  }
  const encoded = 'image_base64' in value ? value.image_base64 : undefined
  if (typeof encoded !== 'string' || encoded === '') throw problems.missing('image_base64')
  const { type, bytes } = decodeBase64Image(encoded)
  return { images: [{ name: '', type, bytes: bytes.length > fileLimit ? undefined : bytes }], fields }
}
