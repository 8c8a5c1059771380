// Limits that a bucket sets for its objects.
import { storageErrors } from './storage-error.ts'

const units: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }

/**
 * The bytes of a size limit. Texts have decimal units, and three significant digits: `1.5MB`.
 *
 * @param largest limit of the server, in bytes
 * @throws StorageError 400 for another text; 413 above the limit of the server
 */
export function sizeLimit(given: number | string | null, largest: number): number | null {
  // The original converts texts without a unit, and takes an empty one for null.
  if (given === null || given === '') return null
  const size = typeof given === 'number' ? given : sizeOf(given)
  if (size > largest) throw storageErrors.tooLarge()
  return size
}

function sizeOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)([gmk]?b)$/i.exec(text) ?? []
  const factor = units[unit.toLowerCase()]
  if (factor === undefined) throw storageErrors.invalidFileSizeLimit()
  return Math.floor(Number(Number(digits).toPrecision(3)) * factor)
}

const mediaType = /^[\w.+-]+\/(?:[\w.+-]+(?:;\s*charset=[\w-]+)?|\*)$|^\*$/
const longestType = 1000

/**
 * The media types that a bucket allows, without empty texts.
 *
 * @throws StorageError 415 for a malformed one
 */
export function allowedTypes(given: readonly string[] | null): readonly string[] | null {
  const types = given?.filter((type) => type !== '') ?? null
  const wrong = types?.find((type) => type.length > longestType || (!mediaType.test(type) && type !== '*/*'))
  if (wrong !== undefined) throw storageErrors.invalidMimeType(wrong.slice(0, longestType))
  return types
}
