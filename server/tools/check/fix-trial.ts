// Tries the statements that mend findings in a transaction that is rolled back, and compares what roles may do before and after.
import { sqlState } from '../../postgres/database-error.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { LintFinding } from './finding.ts'
import { fixParts, statementsOf, type FixPart } from './fix-migration.ts'
import { broken, probe, type Probe } from './fix-probe.ts'
import { readRights, rightChanges, type RightChange, type Rights } from './rights.ts'

export type TriedFix = {
  readonly finding: LintFinding
  /** What roles may do before and after; empty if the statements change nothing about that. */
  readonly changes: readonly RightChange[]
  /** `unconfirmed`: they change what a role may do today, without agreement (`--yes`). */
  readonly outcome: 'written' | 'unconfirmed' | 'failed'
  /** Why they failed. */
  readonly error: string | null
}

export type FixTrial = {
  /** The findings with statements. */
  readonly tried: readonly TriedFix[]
  /** What may be written. */
  readonly parts: readonly FixPart[]
}

export type TrialOptions = {
  /** Whether fixes may change what roles may do. */
  readonly mayChangeRights: boolean
  /** Roles of requests, whose statements must still work. */
  readonly roles: readonly string[]
}

/** Milliseconds for a lock and for a statement: the trial must not hold up a database that is in use. */
const limits = { lock: 1000, statement: 10_000 }

/**
 * Tries each fix by itself, then those that may be written one after the other, as the migration will run them.
 *
 * @param query runs statements on one connection of the role that applies migrations, without an open transaction
 * @throws the error of a reading: the connection is lost
 */
export async function tryFixes(
  query: RunClientQuery,
  findings: readonly LintFinding[],
  { mayChangeRights, roles }: TrialOptions,
): Promise<FixTrial> {
  const mendable = findings.filter(({ fix }) => fix !== null)
  if (mendable.length === 0) return { tried: [], parts: [] }
  // Roles that others create meanwhile are no change of the fix.
  await query('begin transaction isolation level repeatable read')
  try {
    await query(
      `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true), set_config('jit', 'off', true)`,
      [String(limits.lock), String(limits.statement)],
    )
    const trial = await Trial.begin(query, roles)
    const tried: TriedFix[] = []
    for (const finding of mendable) tried.push(await trial.alone(finding, mayChangeRights))
    return await trial.together(tried, mayChangeRights)
  } finally {
    await query('rollback')
  }
}

class Trial {
  readonly #query: RunClientQuery
  readonly #rights: Rights
  readonly #roles: readonly string[]
  #probe: Probe | undefined

  static async begin(query: RunClientQuery, roles: readonly string[]): Promise<Trial> {
    return new Trial(query, await rightsNow(query), roles)
  }

  private constructor(query: RunClientQuery, rights: Rights, roles: readonly string[]) {
    this.#query = query
    this.#rights = rights
    this.#roles = roles
  }

  /** Tries the statements of one finding, and undoes them. */
  async alone(finding: LintFinding, mayChangeRights: boolean): Promise<TriedFix> {
    this.#probe ??= await probe(this.#query, this.#rights, this.#roles)
    await this.#query('savepoint fix')
    try {
      const statements = statementsOf(finding.trial ?? finding.fix ?? '')
      await this.#run(statements)
      const after = await rightsNow(this.#query)
      const changes = rightChanges(this.#rights, after)
      // PostgreSQL only warns when a role revokes what it may not revoke.
      const isInVain = changes.length === 0 && statements.every((it) => /^(?:grant|revoke)\b/i.test(it))
      const error = isInVain ? inVain : closesSomething(changes) ? await this.#harm(after, changes) : null
      const outcome = error !== null ? 'failed' : changes.length > 0 && !mayChangeRights ? 'unconfirmed' : 'written'
      return { finding, changes, outcome, error }
    } catch (error) {
      return { finding, changes: [], outcome: 'failed', error: messageOf(error) }
    } finally {
      await this.#query('rollback to savepoint fix')
    }
  }

  /** Runs what may be written, one part after the other. A part that fails, or changes more than its findings, is left out. */
  async together(tried: readonly TriedFix[], mayChangeRights: boolean): Promise<FixTrial> {
    const results = new Map(tried.map((it) => [it.finding, it]))
    const written = tried.filter(({ outcome }) => outcome === 'written').map(({ finding }) => finding)
    const parts: FixPart[] = []
    const done = new Set<string>()
    let before = this.#rights
    for (const part of fixParts(written)) {
      await this.#query('savepoint part')
      const step = await this.#step(part, done, before)
      const isMore = 'changes' in step && !mayChangeRights && step.changes.length > 0
      if ('error' in step || isMore) {
        await this.#query('rollback to savepoint part')
        const result =
          'error' in step
            ? ({ outcome: 'failed', error: step.error } as const)
            : ({ outcome: 'unconfirmed', changes: step.changes } as const)
        for (const finding of part.findings) results.set(finding, { ...leftOut(finding), ...result })
        continue
      }
      for (const statement of part.statements) done.add(statement)
      before = step.rights
      parts.push(part)
    }
    return { tried: [...results.values()], parts }
  }

  async #step(
    { findings: [first], statements }: FixPart,
    done: ReadonlySet<string>,
    before: Rights,
  ): Promise<{ readonly error: string } | { readonly rights: Rights; readonly changes: readonly RightChange[] }> {
    try {
      // What is tried on a copy is alone in its part.
      await this.#run(first?.trial == null ? statements.filter((it) => !done.has(it)) : statementsOf(first.trial))
      const rights = await rightsNow(this.#query)
      const changes = rightChanges(before, rights)
      const error = closesSomething(changes) ? await this.#harm(rights, rightChanges(this.#rights, rights)) : null
      return error === null ? { rights, changes } : { error }
    } catch (error) {
      return { error: messageOf(error) }
    }
  }

  async #run(statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.#query(statement)
  }

  /** The first statement on an object that a change is not about, and which the change breaks. */
  async #harm(rights: Rights, changes: readonly RightChange[]): Promise<string | null> {
    const changed = new Set(changes.map(({ role, object, command }) => JSON.stringify([role, object, command])))
    const found = broken(this.#probe ?? new Map(), await probe(this.#query, rights, this.#roles)).find(
      ({ role, object, command }) => !changed.has(JSON.stringify([role, object, command])),
    )
    return found === undefined
      ? null
      : `${found.role} could no longer ${found.command} from ${found.object}: ${found.why}`
  }
}

const inVain = 'the connected role may not grant or revoke these privileges: nothing changed'

const leftOut = (finding: LintFinding): TriedFix => ({ finding, changes: [], outcome: 'failed', error: null })

/** Whether a role loses something that an expression on another object may need. */
const closesSomething = (changes: readonly RightChange[]): boolean => changes.some(({ after }) => after === 'no')

/** Reads the rights without changing the settings of the transaction. */
async function rightsNow(query: RunClientQuery): Promise<Rights> {
  await query('savepoint reading')
  try {
    return await readRights(query)
  } finally {
    await query('rollback to savepoint reading')
  }
}

/** @throws an error that is not PostgreSQL's: the connection is lost */
function messageOf(error: unknown): string {
  if (sqlState(error) === undefined) throw error
  return (error as Error).message
}
