// String formats of ajv-formats, limited in input length.
import type { Ajv2020, Format } from 'ajv/dist/2020.js'
import { uuidPattern } from '../text/uuid.ts'
import { loadFormats } from './ajv.ts'

/** Longer text is invalid in all formats: on megabytes, backtracking expressions would overflow the stack. */
export const maxLength = 16_384

function bounded(format: Format): Format {
  if (format instanceof RegExp) return (text: string) => text.length <= maxLength && format.test(text)
  if (typeof format === 'function') return (text: string) => text.length <= maxLength && format(text)
  return format
}

/** Adds all formats of ajv-formats. */
export function addBoundedFormats(ajv: Ajv2020): void {
  loadFormats().default(ajv)
  // Without the prefix `urn:uuid:`, which Postgres rejects.
  ajv.addFormat('uuid', uuidPattern)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format !== undefined && typeof format !== 'boolean') ajv.addFormat(name, bounded(format))
  }
}
