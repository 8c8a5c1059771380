// Reads from the system catalog what the API exposes to which role, for `check`.
import { readFile } from 'node:fs/promises'

export type Command = 'select' | 'insert' | 'update' | 'delete'
export const commands: readonly Command[] = ['select', 'insert', 'update', 'delete']

/** On the whole table, on some columns only, or not at all. Only counts with USAGE on the schema. */
export type Grant = 'all' | 'columns' | null

export type RelationRole = {
  readonly name: string
  /** Whether the role is a superuser, has BYPASSRLS, or owns the table without FORCE ROW LEVEL SECURITY. */
  readonly bypassesRls: boolean
  readonly grants: Readonly<Record<Command, Grant>>
}

export type Policy = {
  readonly name: string
  readonly command: Command | 'all'
  /** False for restrictive policies, which only restrict what permissive ones allow. */
  readonly permissive: boolean
  /** Whether the policy, or a function that it calls, mentions `user_metadata` or `raw_user_meta_data`. */
  readonly readsUserMetadata: boolean
  /** The API roles that the policy applies to. */
  readonly roles: readonly string[]
}

export type ExposedRelation = {
  readonly kind: 'table' | 'foreign table' | 'view' | 'materialized view'
  readonly schema: string
  readonly name: string
  readonly owner: string
  readonly ownerBypassesRls: boolean
  readonly rls: boolean
  readonly securityInvoker: boolean
  readonly roles: readonly RelationRole[]
  readonly policies: readonly Policy[]
}

export type ExposedFunction = {
  readonly kind: 'function'
  readonly schema: string
  readonly name: string
  /** Argument types in the notation of `drop function`. */
  readonly arguments: string
  readonly owner: string
  readonly extension: string | null
  readonly securityDefiner: boolean
  readonly roles: readonly { readonly name: string; readonly execute: boolean }[]
}

export type Exposed = ExposedRelation | ExposedFunction

/** Runs one statement. */
export type RunClientQuery = (
  text: string,
  values?: unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>

/** The same relative path is valid from `server/running/operations/` and from the compiled file in `dist/`. */
const statement = new URL('../../../sql/introspection/exposure.sql', import.meta.url)

/**
 * Reads the tables, views and functions of the exposed schemas, with the privileges of the API's roles.
 *
 * @param query runs statements on one connection, preferably of `authenticator`: the roles it can switch to are checked
 * @param roles additional roles, such as `db-anon-role`; ignored if they do not exist
 * @throws Postgres's error 3F000 when a schema does not exist
 */
export async function readExposure(
  query: RunClientQuery,
  schemas: readonly string[],
  roles: readonly string[],
): Promise<Exposed[]> {
  const text = await readFile(statement, 'utf8')
  await query('begin transaction isolation level repeatable read, read only')
  try {
    // With an empty search_path, Postgres qualifies the types of arguments.
    await query(`select set_config('search_path', '', true), set_config('jit', 'off', true)`)
    const { rows } = await query(text, [JSON.stringify(schemas), JSON.stringify(roles)])
    return rows.map(({ row }) => row as Exposed)
  } finally {
    await query('rollback')
  }
}
