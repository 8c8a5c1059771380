// Runs the statements of a file, in one transaction if possible, and records how far they have taken effect.
import type { Client } from '../../postgres/connection/client.ts'
import { copyIn } from '../../postgres/copy-in.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { SqlStatement } from '../../text/sql-statements.ts'
import { describeInvalid, dropNewInvalid, invalidIndexes } from './invalid-indexes.ts'
import { statementError, type MigrationError } from './migration-error.ts'
import type { SqlFile } from './migration-file.ts'
import { segmentsOf, type Segment } from './segments.ts'
import { noticeStandIn, standInFor } from './stand-in-extensions.ts'
import { isSkippedInThrowAway, toleratingRoles } from './throw-away.ts'

export type Run = {
  readonly client: Client
  readonly file: SqlFile
  /** Number of statements that have taken effect before. */
  readonly from: number
  /** Whether the first statement may have taken effect before, in a process that ended. */
  readonly wasInterrupted?: boolean
  /** Whether the database is thrown away: statements for the whole cluster are left out. */
  readonly isThrowAway?: boolean
  /** Whether a role that is created may exist. By default, if the database is thrown away. */
  readonly toleratesRoles?: boolean
  /** Whether the next run begins with the first statement, whatever has taken effect: of a seed. */
  readonly startsOver?: boolean
  /** Rolls back instead of committing, where there is a transaction. */
  readonly isTrial?: boolean
  /**
   * Records that the first `done` statements have taken effect, in the transaction of those statements if there is one.
   * `running` is the number of a statement that is about to run outside of a transaction.
   */
  readonly save: (done: number, running: number | null) => Promise<void>
}

/**
 * Runs the statements of a file that have not taken effect. A statement that cannot run in a transaction runs outside of
 * one, and those before and after it in a transaction each: PostgreSQL itself says which ones these are.
 *
 * @throws MigrationError for the statement that failed
 */
export async function runFile(run: Run): Promise<void> {
  const alone = new Set<number>()
  let done = run.from
  while (done < run.file.statements.length) {
    const outcome = await runSegments(run, done, alone)
    done = outcome.done
    for (const index of outcome.alone) alone.add(index)
  }
  if (run.from === run.file.statements.length) await run.save(done, null)
}

type Outcome = { readonly done: number; readonly alone: readonly number[] }

/** Runs the parts of a file until one has a statement that must run outside of its transaction. */
async function runSegments(run: Run, from: number, alone: ReadonlySet<number>): Promise<Outcome> {
  const { file } = run
  let done = from
  for (const segment of segmentsOf(file, from, alone)) {
    if (segment.kind === 'alone') await runAlone(run, segment.from)
    else {
      const separate = await runTransaction(run, segment)
      if (separate.length > 0) return { done, alone: separate }
    }
    done = segment.to
  }
  return { done, alone: [] }
}

/** @returns statements that must run outside of the transaction, which was rolled back then */
async function runTransaction(run: Run, segment: Segment & { kind: 'transaction' }): Promise<readonly number[]> {
  const { client, file } = run
  let current = segment.from
  try {
    await client.query(segment.begin)
    for (; current < segment.to; current++) {
      const statement = file.statements[current]
      if (statement && !segment.skipped.includes(current)) await runStatement(run, statement, true)
    }
    await resetRole(client)
    await run.save(segment.to, null)
    await client.query(run.isTrial ? 'rollback' : 'commit')
    return []
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    const separate = segment.skipped.length === 0 ? separateStatements(file, segment.from, current, error) : []
    if (separate.length > 0) return separate
    // Constraints that are deferred fail at the end.
    const isAtEnd = current >= segment.to
    throw statementError(file, Math.min(current, segment.to - 1), error, [
      ...(isAtEnd ? ['The error was reported at the end of the transaction.'] : []),
      ...(run.startsOver && segment.from > 0
        ? startingOver(file, segment.from)
        : stateAfter(segment.from, segment.to - segment.from < file.statements.length)),
    ])
  }
}

/** Sentences about what has taken effect after a transaction failed. */
function stateAfter(done: number, isPart: boolean): readonly string[] {
  if (done === 0) {
    return [
      isPart
        ? 'No statement of the file has taken effect.'
        : 'The file was rolled back: nothing of it has taken effect.',
    ]
  }
  const first = done === 1 ? 'The first statement has' : `The first ${done} statements have`
  return [
    `${first} taken effect and must stay as they are; the statements since then were rolled back.`,
    'Correct them and migrate again, which goes on from there.',
  ]
}

/** Statements that failed only because they ran in a transaction, according to the error. */
function separateStatements({ statements }: SqlFile, from: number, current: number, error: unknown): readonly number[] {
  const code = sqlState(error)
  const words = statements[current]?.words ?? []
  // active_sql_transaction, which `set transaction` also reports; invalid_transaction_termination, of procedures
  if ((code === '25001' && words[0] !== 'set') || code === '2D000') return [current]
  // unsafe_new_enum_value_usage: a value of an enum can be used once it is committed.
  if (code !== '55P04') return []
  return statements.flatMap((statement, index) =>
    index >= from && index < current && addsEnumValue(statement) ? [index] : [],
  )
}

const addsEnumValue = ({ words }: SqlStatement): boolean => /^alter type\b.* add value\b/.test(words.join(' '))

async function runAlone(run: Run, index: number): Promise<void> {
  const { client, file } = run
  const statement = file.statements[index]
  if (!statement) return
  const wasInterrupted = run.wasInterrupted === true && index === run.from
  const buildsIndex = /^(?:create (?:unique )?index|reindex)\b/.test(statement.words.join(' '))
  const before = buildsIndex ? await invalidIndexes(client) : []
  await run.save(index, index)
  try {
    await runStatement(run, statement, false)
  } catch (error) {
    const dropped = buildsIndex ? await dropNewInvalid(client, before) : []
    await resetRole(client).catch(() => undefined)
    // It had no effect. If it was interrupted earlier, that is still unknown.
    if (!wasInterrupted) await run.save(index, null).catch(() => undefined)
    throw aloneError(run, index, error, [
      ...dropped.map((name) => `The invalid index ${name} that it left behind was dropped.`),
      ...(wasInterrupted ? interrupted(file, describeInvalid(before)) : []),
    ])
  }
  await resetRole(client)
  await run.save(index + 1, null)
}

function aloneError(
  { file, startsOver = false }: Run,
  index: number,
  error: unknown,
  notes: readonly string[],
): MigrationError {
  const before = index === 1 ? 'The statement before it has' : `The ${index} statements before it have`
  const goOn = `${before} taken effect and must stay as they are. Correct the rest and migrate again, which goes on with this statement.`
  return statementError(file, index, error, [
    'It runs outside of a transaction.',
    ...(index === 0 ? ['No statement of the file has taken effect.'] : startsOver ? startingOver(file, index) : [goOn]),
    ...notes,
  ])
}

/** Sentences about a file that is not recorded before it is complete, after a part of it has taken effect. */
const startingOver = ({ name }: SqlFile, done: number): readonly string[] => [
  `${done === 1 ? 'The first statement has' : `The first ${done} statements have`} taken effect, and run again the next time, when`,
  `${name} begins from its first statement: undo them, or let them tolerate what exists (if not exists, on conflict do nothing).`,
]

const interrupted = (file: SqlFile, invalid: readonly string[]): readonly string[] => [
  'An earlier process ended while it ran, so it may have taken effect then.',
  ...invalid,
  `If it has, run what follows it by hand, then \`rowhouse migrate --accept ${file.name}\`.`,
]

async function runStatement(
  { client, isThrowAway, toleratesRoles = isThrowAway }: Run,
  statement: SqlStatement,
  isInTransaction: boolean,
): Promise<void> {
  const { text, rows } = statement
  if (isThrowAway && isSkippedInThrowAway(statement)) return
  const send = async (): Promise<void> => {
    const extension = await standInFor(client, text)
    if (extension !== undefined) await client.query(noticeStandIn(extension))
    else if (rows === undefined) await client.query(text)
    else await copyIn(client, text, rows)
  }
  await (toleratesRoles ? toleratingRoles(client, statement, isInTransaction, send) : send())
}

/** Statements of files may switch to a role that has no rights on the record. */
async function resetRole(client: Client): Promise<void> {
  await client.query('reset session authorization; reset role')
}
