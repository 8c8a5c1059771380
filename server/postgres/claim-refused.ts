// The errors of a claim (see `Claim` in `rest/database.ts`), which their position distinguishes from errors of user code.
import { TracelessError } from '../common/traceless-error.ts'
import type { ClaimRefusal } from '../rest/database.ts'
import { Refusal } from './protocol/pipeline.ts'
import { StatementError } from './protocol/statement-error.ts'

type Reason = ClaimRefusal['reason']

class ClaimRefused extends TracelessError implements ClaimRefusal {
  readonly kind = 'claim refused'
  readonly reason: Reason

  constructor(reason: Reason, cause: unknown) {
    super('the claim of the transaction was refused', cause)
    this.name = 'ClaimRefused'
    this.reason = reason
  }
}

const reasons: Readonly<Record<string, Reason>> = { RH409: 'running', RH208: 'recorded', RH429: 'too many' }

/**
 * The refusal that an error of a transaction means.
 *
 * @param claim number of the claim's statement in the first part
 * @returns undefined for any other error
 */
export function claimRefused(error: unknown, claim: number): Refusal | undefined {
  if (!(error instanceof StatementError) || error.position.part !== 0 || error.position.statement !== claim) {
    return undefined
  }
  const reason = reasons[error.server.code]
  return reason && new Refusal(new ClaimRefused(reason, error))
}

export const isClaimRefused = (error: unknown): boolean => error instanceof ClaimRefused

/** unique_violation, serialization_failure */
const sameRecord = new Set(['23505', '40001'])

/**
 * The refusal that an error of the statements that record the effect means: with a snapshot that is older than the claim,
 * the record of another transaction is found only when that of this one is written.
 *
 * @returns undefined for any other error, and for errors of the commit
 */
export function recordedMeanwhile(error: unknown): Refusal | undefined {
  return error instanceof StatementError && error.position.part === 0 && sameRecord.has(error.server.code)
    ? new Refusal(new ClaimRefused('recorded', error))
    : undefined
}
