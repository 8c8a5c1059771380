// The isolation level of a batch: the strictest one that any of its requests needs.
import type { Identity } from '../identity/identity.ts'
import type { IsolationLevel } from '../schema-cache/routine.ts'
import { prepare } from './cache/prepare.ts'
import { ApiError } from './errors.ts'
import { isolationOf } from './request-transaction.ts'
import type { BatchPart } from './batch/batch-request.ts'
import { partRequest, type BatchFrame } from './batch-part-request.ts'

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
  parts.reduce<IsolationLevel | null>((level, part) => {
    const { context } = frame
    try {
      const prepared = prepare(
        partRequest(part, () => '0', frame),
        context,
        () => undefined,
      )
      if (prepared instanceof ApiError || prepared.plan.kind !== 'call') return level
      return stricter(level, isolationOf(prepared.plan, identity, context.snapshot))
    } catch {
      // It will fail again, or get a value that fits, when its turn comes.
      return level
    }
  }, null)
