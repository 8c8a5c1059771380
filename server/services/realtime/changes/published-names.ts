// What a publication has: tables, and which changes of them the log reports.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { Database } from '../../../postgres/database.ts'
import { catalogueSettings, publishedActions } from '../policies/relation-policies.ts'
import { changeKinds, type Binding, type ChangeKind } from './filter-text.ts'

const publishedNames = new JsonStatement(
  `select ${publishedActions('p')}, schemaname::text, tablename::text from pg_catalog.pg_publication p
     left join pg_catalog.pg_publication_tables using (pubname) where pubname = $1`,
  { access: 'read', hasNoEffect: true },
)

export type Publication = {
  /** What it reports, as its parameter `publish` has it: `insert, update, delete, truncate`. */
  readonly actions: string
  readonly tables: readonly { readonly schema: string; readonly name: string }[]
}

/** Reads a publication; undefined if there is no such publication. */
export async function readPublication(
  database: Pick<Database, 'runWith'>,
  publication: string,
): Promise<Publication | undefined> {
  const rows = await database.runWith(publishedNames, catalogueSettings, [publication])
  const [first] = rows
  if (!first) return undefined
  const tables = rows.flatMap(([, schema, name]) => (schema && name ? [{ schema, name }] : []))
  return { actions: first[0] ?? '', tables }
}

/** Those of the changes that a binding asks for of which the log says nothing, in capitals. */
export function unpublishedKinds({ event }: Binding, actions: string): readonly ChangeKind[] {
  const published = actions.toUpperCase().split(', ')
  return changeKinds.filter((kind) => (event === '*' || event === kind) && !published.includes(kind))
}

/** The parameter `publish` that reports further changes. */
export function publishWith(actions: string, kinds: readonly ChangeKind[]): string {
  const wanted = [...actions.toUpperCase().split(', '), ...kinds]
  return [...changeKinds, 'TRUNCATE']
    .filter((action) => wanted.includes(action))
    .join(', ')
    .toLowerCase()
}

/** A table of a publication that has the rows of another one, as its partition or as the table that it is a partition of. */
export type PublishedRelative = { readonly schema: string; readonly name: string; readonly isPartition: boolean }

const relative = new JsonStatement(
  `select p.schemaname::text, p.tablename::text, (other.oid in (
      select relid from pg_catalog.pg_partition_tree(named.oid)
    ))::text
    from pg_catalog.pg_class named
    join pg_catalog.pg_namespace n on n.oid = named.relnamespace,
    pg_catalog.pg_publication_tables p
    join pg_catalog.pg_namespace m on m.nspname = p.schemaname
    join pg_catalog.pg_class other on other.relnamespace = m.oid and other.relname = p.tablename
    where n.nspname = $2 and named.relname = $3 and p.pubname = $1
      and (
        other.oid in (select relid from pg_catalog.pg_partition_tree(named.oid))
        or other.oid in (select relid from pg_catalog.pg_partition_ancestors(named.oid))
      )
    order by 3, 1, 2 limit 1`,
  { access: 'read', hasNoEffect: true },
)

/** The table of a publication that has rows of a table which is not in the publication itself; undefined if no table has them. */
export async function publishedRelative(
  database: Pick<Database, 'runWith'>,
  publication: string,
  schema: string,
  name: string,
): Promise<PublishedRelative | undefined> {
  const [row] = await database.runWith(relative, catalogueSettings, [publication, schema, name])
  const [ofSchema, ofTable, isPartition] = row ?? []
  return ofSchema && ofTable ? { schema: ofSchema, name: ofTable, isPartition: isPartition === 'true' } : undefined
}
