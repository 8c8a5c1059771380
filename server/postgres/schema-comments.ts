// Comments on schemas that belong to a role of other software, such as `auth` and `storage` to Supabase's `supabase_admin`. Only
// the owner may set them, and they have no effect, so a role without its rights can leave them out.
import type pg from 'pg'

const statement = /^comment on schema (\w+) is\s+'(?:[^']|'')*';$/gm

/** The existing schemas whose owner's rights the role of the client does not have. */
export async function foreignSchemas(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname::text as name from pg_catalog.pg_namespace where not pg_catalog.pg_has_role(nspowner, 'usage')`,
  )
  return new Set(rows.map(({ name }) => name))
}

/** A migration without the comments on these schemas. */
export const withoutComments = (sql: string, schemas: ReadonlySet<string>): string =>
  sql.replaceAll(statement, (comment, schema: string) => (schemas.has(schema) ? '' : comment))
