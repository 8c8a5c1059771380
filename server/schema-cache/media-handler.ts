// Media type handlers: aggregates in the database that turn rows into a response body, and the built-in ones.
// https://docs.postgrest.org/en/v14/references/api/media_type_handlers.html
import type { QualifiedIdentifier } from './identifier.ts'

export type MediaHandler =
  /** `application/vnd.pgrst.object`: one object. */
  | { readonly kind: 'single-json'; readonly stripNulls: boolean }
  /** `application/vnd.pgrst.array;nulls=stripped`. */
  | { readonly kind: 'array-json-strip' }
  | { readonly kind: 'json' }
  | { readonly kind: 'geojson' }
  | { readonly kind: 'csv' }
  /** A function of the database; `target` is the relation it is for, null for `anyelement`. */
  | { readonly kind: 'custom'; readonly function: QualifiedIdentifier; readonly target: QualifiedIdentifier | null }
  /** No body is produced. */
  | { readonly kind: 'none' }

/** A handler and the MIME type that it answers with (they differ for handlers of any media type). */
export type ResolvedHandler = { readonly handler: MediaHandler; readonly mime: string }

/** Handlers by `mediaHandlerKey(relation or null for anyelement, MIME type)`. The built-in ones are always there. */
export type MediaHandlers = ReadonlyMap<string, ResolvedHandler>

export const mediaHandlerKey = (relation: QualifiedIdentifier | null, mime: string): string =>
  relation === null ? `\0\0${mime}` : `${relation.schema}\0${relation.name}\0${mime}`

/** A handler of the database, as the catalogue has it; its media types are names of domains. */
export type MediaHandlerRow = {
  readonly function: QualifiedIdentifier
  readonly target: QualifiedIdentifier
  /** What requests ask for, in lower case. */
  readonly mediaType: string
  /** What it answers with. */
  readonly answer: string
}

/** The built-in handlers, overridden and joined by those of the database. */
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

/** Media types that the API knows, by every name that a domain can give them. */
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

/** The MIME type that a domain's name stands for: the canonical one if the API knows it, else the name as it is. */
const canonicalMime = (name: string): string => knownMimes.get(name.toLowerCase()) ?? name
