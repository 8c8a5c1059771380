// What the API shows to whom: read from the catalogue, judged by `check`.
import { readFile } from 'node:fs/promises'

export type Command = 'select' | 'insert' | 'update' | 'delete'
export const commands: readonly Command[] = ['select', 'insert', 'update', 'delete']

/** On the whole table, on some columns only, or not at all. Needs the right to use the schema as well. */
export type Grant = 'all' | 'columns' | null

export type RelationRole = {
  readonly name: string
  /** A superuser, one with BYPASSRLS, or an owner whom the table does not force under its own policies. */
  readonly bypassesRls: boolean
  readonly grants: Readonly<Record<Command, Grant>>
}

export type Policy = {
  readonly name: string
  readonly command: Command | 'all'
  /** Restrictive policies only narrow down what permissive ones allow. */
  readonly permissive: boolean
  /** Those of the API's roles to which it applies. */
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
  /** As Postgres writes them in `drop function`. */
  readonly arguments: string
  readonly owner: string
  readonly extension: string | null
  readonly securityDefiner: boolean
  readonly roles: readonly { readonly name: string; readonly execute: boolean }[]
}

export type Exposed = ExposedRelation | ExposedFunction

/** Runs one statement. */
export type Query = (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>

/** From this file in `server/program/operations/` as from its compiled form in `dist/`, the statement is three levels up. */
const statement = new URL('../../../sql/introspection/exposure.sql', import.meta.url)

/**
 * Reads the tables, views and functions of the exposed schemas, with what the API's roles may do with them.
 *
 * @param query of one connection, best that of `authenticator`: the API's roles are those it can switch to
 * @param roles of the API besides, such as `db-anon-role`; ignored when they do not exist
 * @throws Postgres's error 3F000 when a schema does not exist
 */
export async function readExposure(
  query: Query,
  schemas: readonly string[],
  roles: readonly string[],
): Promise<Exposed[]> {
  const text = await readFile(statement, 'utf8')
  await query('begin transaction isolation level repeatable read, read only')
  try {
    // With an empty path, the types of arguments are written with their schemas.
    await query(`select set_config('search_path', '', true), set_config('jit', 'off', true)`)
    const { rows } = await query(text, [JSON.stringify(schemas), JSON.stringify(roles)])
    return rows.map(({ row }) => row as Exposed)
  } finally {
    await query('rollback')
  }
}
