// Divides the statements of a file into parts that take effect together.
import type { SqlStatement } from '../../text/sql-statements.ts'
import { CommandError } from '../command-line/command-error.ts'
import { lineOf, type SqlFile } from './migration-file.ts'

/** Statements `from` to `to`, exclusive. */
export type Segment = { readonly from: number; readonly to: number } & (
  | {
      readonly kind: 'transaction'
      /** The statement that begins the transaction. */
      readonly begin: string
      /** Statements of the file that begin and end the transaction, and are not run. */
      readonly skipped: readonly number[]
    }
  /** One statement that runs outside of a transaction. */
  | { readonly kind: 'alone' }
)

/** What a statement does with the transaction around it. */
function control({ words }: SqlStatement): 'begin' | 'commit' | 'refused' | undefined {
  const [first, second, ...others] = words
  if (first === 'begin' || (first === 'start' && second === 'transaction')) return 'begin'
  if (first === 'prepare' && second === 'transaction') return 'refused'
  if (first === 'abort') return 'refused'
  if (first === 'rollback') return second === 'to' || others.includes('to') ? undefined : 'refused'
  if (first === 'commit' || first === 'end') {
    if (second === 'prepared') return undefined
    return words.includes('chain') && !words.includes('no') ? 'refused' : 'commit'
  }
  return undefined
}

/**
 * The parts of a file from a statement on. Transactions of the file itself are kept, and all other statements between
 * them are in one transaction.
 *
 * @param alone indexes of the statements that run outside of a transaction
 * @throws CommandError for a transaction that is rolled back, prepared or not ended
 */
export function segmentsOf(file: SqlFile, from: number, alone: ReadonlySet<number>): Segment[] {
  const segments: Segment[] = []
  const { statements, withoutTransaction } = file
  const at = (index: number): string => `${file.path}:${lineOf(file.text, statements[index]?.start ?? 0)}`
  /** The first statement that is in no segment yet. */
  let open = from
  /** The `begin` of the file whose transaction is open. */
  let begun: number | undefined
  const close = (to: number): void => {
    if (to > open) segments.push({ kind: 'transaction', from: open, to, begin: 'begin', skipped: [] })
    open = to
  }
  for (let index = from; index < statements.length; index++) {
    const statement = statements[index]
    if (!statement) continue
    const what = control(statement)
    if (what === 'refused') {
      throw new CommandError(
        `${at(index)}: "${statement.text.split('\n')[0]}" would undo statements that the migration records as applied. ` +
          'Remove it: a migration that fails is rolled back by itself.',
      )
    }
    if (what === 'begin' && begun === undefined) {
      close(index)
      begun = index
    } else if (what === 'commit') {
      if (begun === undefined) {
        // Outside of a transaction of the file: it ends the one around it.
        segments.push({ kind: 'transaction', from: open, to: index + 1, begin: 'begin', skipped: [index] })
      } else {
        const begin = statements[begun]?.text ?? 'begin'
        segments.push({ kind: 'transaction', from: begun, to: index + 1, begin, skipped: [begun, index] })
        begun = undefined
      }
      open = index + 1
    } else if (begun === undefined && (withoutTransaction || alone.has(index))) {
      close(index)
      segments.push({ kind: 'alone', from: index, to: index + 1 })
      open = index + 1
    }
  }
  if (begun !== undefined) {
    throw new CommandError(`${at(begun)}: the transaction that begins here has no commit. Add it, or remove the begin.`)
  }
  close(statements.length)
  return segments
}
