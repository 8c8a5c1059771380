// Policies that make statements slow: those of `rowhouse check`, with what they cost, and the statements that took the most time.
import { runCheck, type CheckSettings } from '../check/run-check.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { DoctorFinding } from './finding.ts'
import { slowestStatements } from './slowest-statements.ts'

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
const slow = { mean: 50, calls: 20, most: 5, length: 200 }

/**
 * The slowest statements of the serving role and the roles that it switches to, if pg_stat_statements is installed.
 *
 * @returns undefined when it is not installed, or not loaded
 */
export async function statementFindings(query: RunClientQuery, login: string): Promise<DoctorFinding[] | undefined> {
  const statements = await slowestStatements(query, login, slow)
  return statements?.map(({ text, calls, mean, total }) => ({
    area: 'policies',
    code: 'slow_statement',
    level: 'WARN',
    subject: text,
    what: `${mean.toFixed(0)} ms on average, ${calls} times, ${(total / 1000).toFixed(0)} s in total.`,
    why: 'It occupies a connection of the pool for as long.',
    advice: 'Send its request to `rowhouse explain`, which shows the plan, and what the policies cost.',
  }))
}
