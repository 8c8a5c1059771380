// Media type handlers: aggregates in the database that turn rows into a response body, and the built-in ones.
// https://docs.postgrest.org/en/stable/references/api/media_type_handlers.html
import type { QualifiedIdentifier } from './identifier.ts'

export type MediaHandler =
  /** `application/vnd.pgrst.object`: one object. */
  | { readonly kind: 'single-json'; readonly stripNulls: boolean }
  /** `application/vnd.pgrst.array;nulls=stripped`. */
  | { readonly kind: 'array-json-strip' }
  | { readonly kind: 'json' }
  | { readonly kind: 'geojson' }
  | { readonly kind: 'csv' }
  /** `application/x-ndjson`, which PostgREST does not have. */
  | { readonly kind: 'ndjson' }
  /** A function of the database. `target` is the relation that it handles, null for `anyelement`. */
  | { readonly kind: 'custom'; readonly function: QualifiedIdentifier; readonly target: QualifiedIdentifier | null }
  /** No body is produced. */
  | { readonly kind: 'none' }

/** A handler and the MIME type of its response, which differs from the requested one for handlers of any media type. */
export type ResolvedHandler = { readonly handler: MediaHandler; readonly mime: string }

/** Handlers by `mediaHandlerKey(relation or null for anyelement, MIME type)`. Always includes the built-in ones. */
export type MediaHandlers = ReadonlyMap<string, ResolvedHandler>

export const mediaHandlerKey = (relation: QualifiedIdentifier | null, mime: string): string =>
  relation === null ? `\0\0${mime}` : `${relation.schema}\0${relation.name}\0${mime}`

/** A handler defined in the database. Its media types are names of domains. */
export type MediaHandlerRow = {
  readonly function: QualifiedIdentifier
  readonly target: QualifiedIdentifier
  /** The requested media type, in lower case. */
  readonly mediaType: string
  /** The media type of the response. */
  readonly answer: string
}

/** The built-in handlers and those of the database, which take precedence. */
export function mediaHandlersOf(rows: readonly MediaHandlerRow[]): MediaHandlers {
  const json: ResolvedHandler = { handler: { kind: 'json' }, mime: 'application/json' }
  const handlers = new Map<string, ResolvedHandler>([
    [mediaHandlerKey(null, '*/*'), json],
    [mediaHandlerKey(null, 'application/json'), json],
    [mediaHandlerKey(null, 'text/csv'), { handler: { kind: 'csv' }, mime: 'text/csv' }],
    [mediaHandlerKey(null, 'application/geo+json'), { handler: { kind: 'geojson' }, mime: 'application/geo+json' }],
  ])
  for (const row of rows) {
    const target = isAnyElement(row.target) ? null : row.target
    handlers.set(mediaHandlerKey(target, canonicalMime(row.mediaType)), {
      handler: { kind: 'custom', function: row.function, target },
      mime: canonicalMime(row.answer),
    })
  }
  return handlers
}

const isAnyElement = ({ schema, name }: QualifiedIdentifier): boolean =>
  schema === 'pg_catalog' && name === 'anyelement'

/** Known media types, by every name that a domain can use for them. */
const knownMimes = new Map([
  ...[
    '*/*',
    'application/json',
    'application/geo+json',
    'application/octet-stream',
    'application/openapi+json',
    'application/x-www-form-urlencoded',
    'text/csv',
    'text/plain',
    'text/xml',
  ].map((mime) => [mime, mime] as const),
  ['application/vnd.pgrst.array', 'application/json'],
  ['application/vnd.pgrst.array+json', 'application/json'],
  ['application/vnd.pgrst.object', 'application/vnd.pgrst.object+json'],
  ['application/vnd.pgrst.object+json', 'application/vnd.pgrst.object+json'],
  ['application/vnd.pgrst.plan', 'application/vnd.pgrst.plan+text; for="application/json"'],
  ['application/vnd.pgrst.plan+text', 'application/vnd.pgrst.plan+text; for="application/json"'],
  ['application/vnd.pgrst.plan+json', 'application/vnd.pgrst.plan+json; for="application/json"'],
])

/** The MIME type that a domain's name denotes: the canonical one if it is known, otherwise the name itself. */
const canonicalMime = (name: string): string => knownMimes.get(name.toLowerCase()) ?? name
