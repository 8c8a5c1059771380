// Compresses streamed responses. RFC 9110, section 12.5.3
import type { Transform } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import * as zlib from 'node:zlib'

/** A compressing stream. `flush` passes on what was written so far. */
export type Encoder = Transform & { flush(callback?: () => void): void }

export type ContentEncoding = 'br' | 'gzip' | 'zstd'

/** Node has zstd since version 22.15. */
const { createZstdCompress } = zlib as { readonly createZstdCompress?: (options: object) => Encoder }

/** Available encodings. Of those that the client likes equally, the first is used: they are in the order of their speed. */
export const encodings: readonly ContentEncoding[] = createZstdCompress ? ['zstd', 'br', 'gzip'] : ['br', 'gzip']

/**
 * Chooses the encoding of a response.
 *
 * @param accepted the header `Accept-Encoding`
 * @returns undefined for no encoding: also when the client accepts nothing that there is
 */
export function chooseEncoding(accepted: string | undefined): ContentEncoding | undefined {
  if (accepted === undefined) return undefined
  const qualities = new Map(accepted.toLowerCase().split(',').map(parseCoding))
  const others = qualities.get('*') ?? 0
  // Without a word about it, identity is acceptable, but everything that is named is better.
  let best = qualities.get('identity') ?? 0
  let chosen: ContentEncoding | undefined
  for (const encoding of encodings) {
    const quality = qualities.get(encoding) ?? (encoding === 'gzip' ? qualities.get('x-gzip') : undefined) ?? others
    if (quality > best || (chosen === undefined && quality > 0 && quality === best)) {
      best = quality
      chosen = encoding
    }
  }
  return chosen
}

/** `gzip;q=0.5` to its name and weight. An invalid weight counts as 0, so that nothing is used that is not wanted. */
function parseCoding(text: string): readonly [string, number] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
  if (weight === undefined) return [name, 1]
  const quality = weight.slice(weight.indexOf('=') + 1).trim()
  return [name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0]
}

/** Creates a stream that compresses fast rather than well: the levels are those of fast servers, not the defaults of zlib. */
export function createEncoder(encoding: ContentEncoding): Encoder {
  switch (encoding) {
    case 'br':
      return createBrotliCompress({
        // The window, and with it the memory, would be 4 MiB by default.
        params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 19 },
      })
    case 'gzip':
      return createGzip({ level: 5 })
    case 'zstd':
      if (!createZstdCompress) throw new Error('this version of Node has no zstd')
      return createZstdCompress({})
    default:
      return encoding satisfies never
  }
}
