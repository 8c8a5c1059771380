// The isolation level of a batch: the strictest one that any of its requests needs.
import type { Identity } from '../../../identity/identity.ts'
import type { IsolationLevel } from '../../../catalogue/routine.ts'
import { isolationOf } from '../../request-transaction.ts'
import type { BatchPart } from './batch-request.ts'
import { preparedParts, type BatchFrame } from './batch-part-request.ts'

const isolationOrder: readonly (IsolationLevel | null)[] = [null, 'read committed', 'repeatable read', 'serializable']

export const stricter = (a: IsolationLevel | null, b: IsolationLevel | null): IsolationLevel | null =>
  isolationOrder.indexOf(a) < isolationOrder.indexOf(b) ? b : a

/**
 * The isolation level that requests will need which cannot begin yet. It is that of the role and of their functions, which
 * are chosen by the names of their arguments, so references may have any value here.
 */
export const laterIsolation = (
  parts: readonly BatchPart[],
  frame: BatchFrame,
  identity: Identity,
): IsolationLevel | null =>
  preparedParts(parts, frame).reduce<IsolationLevel | null>(
    (level, { plan }) =>
      plan.kind === 'call' ? stricter(level, isolationOf(plan, identity, frame.context.snapshot)) : level,
    null,
  )
