// JSON bodies of `/storage/v1`.
import type { IncomingMessage } from 'node:http'
import { limitedBytes } from '../limited-bytes.ts'
import { mostSigns, readJsonBytes } from '../../text/json-text.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { storageErrors } from './storage-error.ts'

/** Bytes. */
const limit = 1024 * 1024

/**
 * Reads and validates a body.
 *
 * @param isOptional whether the body may be empty, which is as `{}`
 * @throws StorageError 400, 413, 415
 */
export async function readStorageBody(
  request: IncomingMessage,
  validate: DtoValidator,
  isOptional: boolean,
): Promise<unknown> {
  // Rejects a large body before receiving it.
  if (Number(request.headers['content-length'] ?? 0) > limit) throw storageErrors.bodyTooLarge()
  const type = request.headers['content-type']
  const bytes = await receive(request)
  if (bytes.length === 0) {
    if (isOptional) return {}
    if (type === undefined) throw storageErrors.validation('body must be object')
    throw isJson(type) ? storageErrors.emptyBody() : storageErrors.invalidContentType()
  }
  if (type === undefined || !isJson(type)) throw storageErrors.invalidContentType()
  const reading = readJsonBytes(bytes, mostSigns)
  if (reading.kind === 'fault') {
    throw reading.fault === 'has too many values' ? storageErrors.bodyTooLarge() : storageErrors.invalidJson()
  }
  const [fault] = validate(reading.value)
  if (fault) throw storageErrors.validation(faultText(fault.pointer, fault.message))
  return reading.value
}

const isJson = (type: string): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)

/** A fault in the words of the original: `body must have required property 'name'`, `body/limit must be integer`. */
function faultText(pointer: string, message: string): string {
  if (message !== 'is required') return `body${pointer} ${message}`
  const end = pointer.lastIndexOf('/')
  return `body${pointer.slice(0, end)} must have required property '${pointer.slice(end + 1)}'`
}

/** Receives the body as it was sent: unlike `http/body-bytes.ts`, without decompressing it. */
function receive(request: IncomingMessage): Promise<Buffer> {
  // The request must stay open for the response when its body is refused.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  return limitedBytes(chunks, limit, storageErrors.bodyTooLarge)
}
