// Metadata of an object that its owner chooses.
import { storageErrors } from './storage-error.ts'

export type UserMetadata = Readonly<Record<string, unknown>>

/** Bytes. */
const mostMetadata = 1024 * 1024

/** Levels. Thousands would exceed the stack of this process, and that of the database. */
const deepest = 100

/**
 * The metadata in a text. Anything but an object in JSON is ignored, as in Supabase's storage.
 *
 * @throws StorageError 413 for a text above 1 MiB; 400 for one that is nested too deeply
 */
export function parseUserMetadata(text: string): UserMetadata | undefined {
  if (Buffer.byteLength(text) > mostMetadata) throw storageErrors.tooLarge('user_metadata')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  requireShallow(value)
  return value as UserMetadata
}

/** Metadata in base64, as a header has it. */
export const decodedMetadata = (header: string): UserMetadata | undefined =>
  parseUserMetadata(Buffer.from(header, 'base64').toString())

function requireShallow(value: object): void {
  let level = [value]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > deepest) throw storageErrors.invalidRequest('user_metadata is nested too deeply')
    level = level.flatMap((parent) => Object.values(parent as Record<string, unknown>).filter(isObject))
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
