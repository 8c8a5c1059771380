import type { Extension } from '../../extension.ts'
import { answerBatch } from './answer-batch.ts'
import { isBatchPath } from './batch-path.ts'

/** `POST /$batch`: several requests in one transaction. */
export const batch: Extension = {
  route: ({ path }, context) =>
    isBatchPath(path, context) ? { bodyLimit: context.snapshot.config.batchMaxBytes, answer: answerBatch } : undefined,
}
