// Formats of strings, as ajv-formats knows them, safe against endless input.
import type { Ajv2020, Format } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** Longer text is of no format. A backtracking expression would run out of stack on megabytes. */
const maxLength = 16_384

/** Postgres reads no `urn:uuid:` in front. */
const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

function bounded(format: Format): Format {
  if (format instanceof RegExp) return (text: string) => text.length <= maxLength && format.test(text)
  if (typeof format === 'function') return (text: string) => text.length <= maxLength && format(text)
  return format
}

/** Adds every format of ajv-formats. */
export function addBoundedFormats(ajv: Ajv2020): void {
  addFormats.default(ajv)
  ajv.addFormat('uuid', uuid)
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (format !== undefined && typeof format !== 'boolean') ajv.addFormat(name, bounded(format))
  }
}
