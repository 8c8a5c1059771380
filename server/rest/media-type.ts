// Media types in the headers `Accept` and `Content-Type`, and in error messages.
// https://docs.postgrest.org/en/stable/references/api/resource_representation.html; RFC 9110, sections 8.3 and 12.5

/** Of requests that are explained instead of answered. */
export const explanationType = 'application/vnd.rowhouse.explain+json'

const planOptions = ['analyze', 'verbose', 'settings', 'buffers', 'wal'] as const

export type PlanOption = (typeof planOptions)[number]

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
  /** Any other media type, as the client wrote it. */
  | { readonly kind: 'other'; readonly text: string }
  | { readonly kind: 'array-json-strip' }
  | { readonly kind: 'single-json'; readonly stripNulls: boolean }
  | {
      readonly kind: 'plan'
      readonly for: MediaType
      readonly format: 'json' | 'text'
      readonly options: readonly PlanOption[]
    }

const json: MediaType = { kind: 'json' }

/** Media types whose parameters have no meaning. */
const plainTypes: ReadonlyMap<string, MediaType> = new Map<string, MediaType>([
  ['application/json', json],
  ['application/geo+json', { kind: 'geojson' }],
  ['text/csv', { kind: 'csv' }],
  ['text/plain', { kind: 'text' }],
  ['text/xml', { kind: 'xml' }],
  ['application/openapi+json', { kind: 'openapi' }],
  ['application/x-www-form-urlencoded', { kind: 'urlencoded' }],
  ['application/octet-stream', { kind: 'octet-stream' }],
  ['*/*', { kind: 'any' }],
])

const typeAndSubtype = /^[\p{L}\p{N}.*]+\/[\p{L}\p{N}.*+-]+/u
const parameter =
  /[\t-\r\p{Zs}]*;[\t-\r\p{Zs}]*([\p{L}\p{N}-]+)[\t-\r\p{Zs}]*=[\t-\r\p{Zs}]*(?:"([^"]*)"|([\p{L}\p{N}|-]+))/uy

/** Parameters up to the first malformed one, with lower-case names. The last of repeated parameters wins. */
function parameters(text: string, from: number): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  parameter.lastIndex = from
  for (let match = parameter.exec(text); match; match = parameter.exec(text))
    found.set((match[1] ?? '').toLowerCase(), match[2] ?? match[3] ?? '')
  return found
}

/** Parses a media type. An unknown one is kept as it is written. */
export function decodeMediaType(text: string): MediaType {
  const plain = plainTypes.get(text)
  if (plain) return plain
  const name = typeAndSubtype.exec(text)?.[0]
  if (name === undefined) return { kind: 'other', text }
  switch (name.toLowerCase()) {
    case 'application/vnd.pgrst.plan':
    case 'application/vnd.pgrst.plan+text':
      return plan('text', parameters(text, name.length))
    case 'application/vnd.pgrst.plan+json':
      return plan('json', parameters(text, name.length))
    case 'application/vnd.pgrst.object':
    case 'application/vnd.pgrst.object+json':
      return { kind: 'single-json', stripNulls: nullsStripped(parameters(text, name.length)) }
    case 'application/vnd.pgrst.array':
    case 'application/vnd.pgrst.array+json':
      return nullsStripped(parameters(text, name.length)) ? { kind: 'array-json-strip' } : json
    default:
      return plainTypes.get(name.toLowerCase()) ?? { kind: 'other', text }
  }
}

const nullsStripped = (parameters: ReadonlyMap<string, string>): boolean => parameters.get('nulls') === 'stripped'

function plan(format: 'json' | 'text', parameters: ReadonlyMap<string, string>): MediaType {
  const wanted = (parameters.get('options') ?? '').split('|')
  return {
    kind: 'plan',
    // A quoted value cannot contain quotes, so the recursion has at most two levels.
    for: decodeMediaType(parameters.get('for') ?? 'application/json'),
    format,
    options: planOptions.filter((option) => wanted.includes(option)),
  }
}

/** The media type as it appears in error messages and in the parameter `for` of a plan. */
export function encodeMediaType(mediaType: MediaType): string {
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
      return `application/vnd.pgrst.plan+${mediaType.format}; for="${encodeMediaType(mediaType.for)}"${options}`
    }
    default:
      return mediaType satisfies never
  }
}

/** The value of `Content-Type`: with a charset, except for binary data and media types that the database defines. */
export function contentTypeOf(mediaType: MediaType): string {
  const mime = encodeMediaType(mediaType)
  return mediaType.kind === 'octet-stream' || mediaType.kind === 'other' ? mime : `${mime}; charset=utf-8`
}

/** Parses the floating-point number at the beginning of a text; 1 if there is none. */
function quality(text: string): number {
  const match = /^[\t-\r\p{Zs}]*(-?)[\t-\r\p{Zs}]*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|Infinity)/u.exec(text)
  return match ? Number(`${match[1] ?? ''}${match[2] ?? ''}`) : 1
}

/**
 * Parses an `Accept` header.
 * @returns the media types by descending `q`, then by specificity (parameters and wildcards), then in the given order.
 * Parameters after `q` are ignored. A `q` of 0 sorts a media type last, but does not exclude it.
 */
export function parseAccept(header: string): MediaType[] {
  if (header === '') return []
  if (!/[,; ]/.test(header)) return [decodeMediaType(header)]
  return header
    .replaceAll(' ', '')
    .split(',')
    .map((range) => {
      const at = range.indexOf(';q=')
      const text = at === -1 ? range : range.slice(0, at)
      const [q = ''] = at === -1 ? [] : range.slice(at + 3).split(';', 1)
      const specificity = text.split(';').length - text.split('*').length
      return { text, quality: quality(q), specificity }
    })
    .sort((a, b) => b.quality - a.quality || b.specificity - a.specificity)
    .map(({ text }) => decodeMediaType(text))
}
