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

/** The MIME type as the API names it. */
export function toMime(mediaType: MediaType): string {
  switch (mediaType.kind) {
    case 'json':
      return 'application/json'
    case 'geojson':
      return 'application/geo+json'
    case 'csv':
      return 'text/csv'
    case 'text':
      return 'text/plain'
    case 'xml':
      return 'text/xml'
    case 'openapi':
      return 'application/openapi+json'
    case 'urlencoded':
      return 'application/x-www-form-urlencoded'
    case 'octet-stream':
      return 'application/octet-stream'
    case 'any':
      return '*/*'
    case 'other':
      return mediaType.text
    case 'array-json-strip':
      return 'application/vnd.pgrst.array+json;nulls=stripped'
    case 'single-json':
      return `application/vnd.pgrst.object+json${mediaType.stripNulls ? ';nulls=stripped' : ''}`
    case 'plan': {
      const options = mediaType.options.length === 0 ? '' : `; options=${mediaType.options.join('|')}`
      return `application/vnd.pgrst.plan+${mediaType.format}; for="${toMime(mediaType.for)}"${options}`
    }
    default:
      return mediaType satisfies never
  }
}

/** The `Content-Type` header of an answer. */
export const contentTypeOf = (mediaType: MediaType): string =>
  mediaType.kind === 'octet-stream' || mediaType.kind === 'other'
    ? toMime(mediaType)
    : `${toMime(mediaType)}; charset=utf-8`
