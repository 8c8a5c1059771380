// The statements that have taken the most time, as pg_stat_statements has them.
import type { RunClientQuery } from '../../catalogue/introspection.ts'

export type StatementTimes = {
  readonly text: string
  readonly calls: number
  /** Milliseconds. */
  readonly mean: number
  readonly total: number
}

export type StatementWish = {
  /** Milliseconds that a run takes on average, at least. */
  readonly mean: number
  /** How often it has run, at least. */
  readonly calls: number
  readonly most: number
  /** Characters of a text. */
  readonly length: number
}

/**
 * Statements of the serving role and the roles that it switches to.
 *
 * @param query runs statements as a role that may see them
 * @param login name of the serving role
 * @returns undefined when pg_stat_statements is not installed, or not loaded
 */
export async function slowestStatements(
  query: RunClientQuery,
  login: string,
  { mean, calls, most, length }: StatementWish,
): Promise<readonly StatementTimes[] | undefined> {
  // The library has settings where it is loaded. Not every owner may read shared_preload_libraries.
  const { rows: found } = await query(
    `select pg_catalog.quote_ident(n.nspname) as schema from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
     where e.extname = 'pg_stat_statements'
       and exists (select from pg_catalog.pg_settings where name = 'pg_stat_statements.max')`,
  )
  const schema = found[0]?.schema
  if (typeof schema !== 'string') return undefined
  const { rows } = await query(
    `select pg_catalog.left(pg_catalog.regexp_replace(query, '\\s+', ' ', 'g'), $2) as text, calls::float8 as calls,
       mean_exec_time as mean, total_exec_time as total
     from ${schema}.pg_stat_statements
     where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
       and calls >= $3 and mean_exec_time >= $4
       and userid in (select oid from pg_catalog.pg_roles where rolname = $1 union
         select m.roleid from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.member where r.rolname = $1)
     order by total_exec_time desc limit $5`,
    [login, length, calls, mean, most],
  )
  return rows as readonly StatementTimes[]
}
