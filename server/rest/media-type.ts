// Media types as the API understands them.

export type PlanOption = 'analyze' | 'verbose' | 'settings' | 'buffers' | 'wal'

export type MediaType =
  | { readonly kind: 'json' }
  | { readonly kind: 'geojson' }
  | { readonly kind: 'csv' }
  | { readonly kind: 'text' }
  | { readonly kind: 'xml' }
  | { readonly kind: 'openapi' }
  | { readonly kind: 'urlencoded' }
  | { readonly kind: 'octet-stream' }
  | { readonly kind: 'any' }
  /** Anything else, as the client wrote it. */
  | { readonly kind: 'other'; readonly text: string }
  | { readonly kind: 'array-json-strip' }
  | { readonly kind: 'single-json'; readonly stripNulls: boolean }
  | {
      readonly kind: 'plan'
      readonly for: MediaType
      readonly format: 'json' | 'text'
      readonly options: readonly PlanOption[]
    }

/** The kinds that one MIME type stands for. */
const simpleMimes = {
  json: 'application/json',
  geojson: 'application/geo+json',
  csv: 'text/csv',
  text: 'text/plain',
  xml: 'text/xml',
  openapi: 'application/openapi+json',
  urlencoded: 'application/x-www-form-urlencoded',
  'octet-stream': 'application/octet-stream',
  any: '*/*',
} as const satisfies Record<Exclude<MediaType['kind'], 'other' | 'array-json-strip' | 'single-json' | 'plan'>, string>

/** The MIME type with its parameters, as error messages and Content-Type headers show it. */
export function encodeMediaType(mediaType: MediaType): string {
  switch (mediaType.kind) {
    case 'other':
      return mediaType.text
    case 'array-json-strip':
      return 'application/vnd.pgrst.array+json;nulls=stripped'
    case 'single-json':
      return `application/vnd.pgrst.object+json${mediaType.stripNulls ? ';nulls=stripped' : ''}`
    case 'plan': {
      const options = mediaType.options.length > 0 ? `; options=${mediaType.options.join('|')}` : ''
      return `application/vnd.pgrst.plan+${mediaType.format}; for="${encodeMediaType(mediaType.for)}"${options}`
    }
    default:
      return simpleMimes[mediaType.kind]
  }
}

/** The media type of a MIME type as handlers are registered under it. */
export function decodeMediaType(text: string): MediaType {
  const essence = (text.split(';', 1)[0] ?? '').trim().toLowerCase()
  for (const kind of Object.keys(simpleMimes) as (keyof typeof simpleMimes)[]) {
    if (simpleMimes[kind] === essence) return { kind }
  }
  return { kind: 'other', text }
}
