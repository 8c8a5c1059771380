// Where an event is in the log: the commit of its transaction, and its index among the transaction's changes, `0/16B3748:3`.
import { formatLsn, parseLsn } from '../../../common/wal-position.ts'

export type ChangePosition = { readonly commit: bigint; readonly index: number }

export const positionText = ({ commit, index }: ChangePosition): string => `${formatLsn(commit)}:${index}`

/** Undefined if the text has another form. */
export function readPosition(text: string): ChangePosition | undefined {
  const [, lsn = '', index] = /^([^:]+):(\d{1,9})$/.exec(text) ?? []
  const commit = parseLsn(lsn)
  return commit === undefined ? undefined : { commit, index: Number(index) }
}

export const isBefore = (one: ChangePosition, other: ChangePosition): boolean =>
  one.commit === other.commit ? one.index < other.index : one.commit < other.commit
