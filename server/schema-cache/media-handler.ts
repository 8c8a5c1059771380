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
