import type { Extension } from '../../extension.ts'
import { answerOnce, requestOnce } from './answer-once.ts'

/** Requests with the header `Idempotency-Key`, which take effect once. */
export const idempotency: Extension = {
  execute: (plan, prepared, http, identity, context) => {
    const once = requestOnce(http, plan, identity, context)
    return once && answerOnce(once, plan, prepared, identity, context)
  },
}
