import { lazy } from '../../../common/lazy.ts'
import { ApiError } from '../../errors.ts'
import type { Extension, Route } from '../../extension.ts'
import { isBatchPath } from './batch-path.ts'

/** Loaded by the first batch, since most servers never get one. */
const answering = lazy(() => import('./answer-batch.ts'))

const answer: Route['answer'] = async (http, identity, context) => {
  const { answerBatch } = await answering()
  const answered = await answerBatch(http, identity, context)
  if (answered instanceof ApiError) throw answered
  return answered
}

/** `POST /$batch`: several requests in one transaction. */
export const batch: Extension = {
  route: ({ path }, context) =>
    isBatchPath(path, context) ? { bodyLimit: context.snapshot.config.batchMaxBytes, answer } : undefined,
}
