// A part of a transaction in a pipeline.
import type { PipelineStatement } from '../../rest/database.ts'

/** Statements that share one Sync, and so one implicit transaction. */
export type PipelinePart = readonly PipelineStatement[]
