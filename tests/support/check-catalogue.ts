// The catalogue of a database without objects but given ones, as `rowhouse check` reads it.
import type { Relation, Role, Schema } from '../../server/catalogue/description.ts'

const database = {
  login: 'me',
  version: 18,
  equalities: [],
  extensions: [],
  functionDefaults: [],
  creators: [],
  published: [],
  storage: null,
}

/** A table of the schema `public` that belongs to an extension, which most lints leave out. */
export const extensionTable: Relation = {
  ...{ oid: 1, schema: 'public', quotedSchema: 'public', name: 'films', quoted: 'public.films', kind: 'r', owner: 10 },
  ...{ rls: true, forcesRls: false, rows: 0, isOfExtension: true, isPartition: false, granted: [] },
  ...{ options: [], tree: null, columns: [] },
}

export const anonRole: Role = {
  ...{ oid: 11, name: 'anon', isSuperuser: false, bypassesRls: false, bypassAttribute: false, memberOf: [] },
  isReachable: true,
}

export const openSchema: Schema = { name: 'public', quoted: 'public', users: [0] }

export type GivenObjects = {
  readonly database?: object
  readonly roles?: readonly Role[]
  readonly schemas?: readonly Schema[]
  readonly relations?: readonly Relation[]
}

/** The rows of a statement of `sql/introspection/`. */
export function catalogueRows(text: string, given: GivenObjects): { readonly row: unknown }[] {
  const rows = (some: readonly unknown[] = []): { readonly row: unknown }[] => some.map((row) => ({ row }))
  if (text.includes("'equalities'")) return rows([{ ...database, ...given.database }])
  if (text.includes("'isReachable'")) return rows(given.roles)
  if (text.includes("'users'")) return rows(given.schemas)
  return text.includes("'quotedSchema'") ? rows(given.relations) : []
}
