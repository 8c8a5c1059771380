// Policies that make statements slow: those of `rowhouse check`, with what they cost, and the statements that took the most time.
import { runCheck, type CheckSettings } from '../check/run-check.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { DoctorFinding } from './finding.ts'

/** The lints of `rowhouse check` about the speed of policies. */
const costly: ReadonlySet<string> = new Set([
  'auth_rls_initplan',
  'multiple_permissive_policies',
  'policy_calls_function_per_row',
  'policy_calls_volatile_function',
  'policy_column_without_index',
])

/** @param query runs statements on one connection of the serving role */
export async function policyFindings(query: RunClientQuery, settings: CheckSettings): Promise<DoctorFinding[]> {
  const { findings } = await runCheck(query, settings, { measure: true })
  return findings
    .filter(({ code, dismissed }) => costly.has(code) && dismissed === null)
    .map(({ code, level, object, reason, fix, advice }): DoctorFinding => ({
      area: 'policies',
      code,
      level,
      subject: object.schema === null ? object.name : `${object.schema}.${object.name}`,
      what: reason,
      why: 'The policy is part of every statement on the table.',
      advice: advice ?? 'Run the statements, or let `rowhouse check --fix` write the migration.',
      ...(fix === null ? {} : { fix }),
    }))
}

/** Statements of which a run takes this long on average, in milliseconds, and that ran this often. */
const slow = { mean: 50, calls: 20 }
const shown = 200

type StatementRow = { readonly text: string; readonly calls: number; readonly mean: number; readonly total: number }

/**
 * The slowest statements of the serving role and the roles that it switches to, if pg_stat_statements is installed.
 *
 * @returns undefined when it is not installed, or not loaded
 */
export async function statementFindings(query: RunClientQuery, login: string): Promise<DoctorFinding[] | undefined> {
  // The library has settings where it is loaded. Not every owner may read shared_preload_libraries.
  const { rows: found } = await query(
    `select pg_catalog.quote_ident(n.nspname) as schema from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
     where e.extname = 'pg_stat_statements'
       and exists (select from pg_catalog.pg_settings where name = 'pg_stat_statements.max')`,
  )
  const schema = found[0]?.schema
  if (typeof schema !== 'string') return undefined
  const { rows } = await query(
    `select pg_catalog.left(pg_catalog.regexp_replace(query, '\\s+', ' ', 'g'), ${shown}) as text, calls::float8 as calls,
       mean_exec_time as mean, total_exec_time as total
     from ${schema}.pg_stat_statements
     where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
       and calls >= ${slow.calls} and mean_exec_time >= ${slow.mean}
       and userid in (select oid from pg_catalog.pg_roles where rolname = $1 union
         select m.roleid from pg_catalog.pg_auth_members m join pg_catalog.pg_roles r on r.oid = m.member where r.rolname = $1)
     order by total_exec_time desc limit 5`,
    [login],
  )
  return (rows as readonly StatementRow[]).map(({ text, calls, mean, total }) => ({
    area: 'policies',
    code: 'slow_statement',
    level: 'WARN',
    subject: text,
    what: `${mean.toFixed(0)} ms on average, ${calls} times, ${(total / 1000).toFixed(0)} s in total.`,
    why: 'It occupies a connection of the pool for as long.',
    advice: 'Send its request to `rowhouse explain`, which shows the plan, and what the policies cost.',
  }))
}
