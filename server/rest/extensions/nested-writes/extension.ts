import type { Extension } from '../../extension.ts'
import { prepareNested } from './prepare-nested.ts'

/** Writes of rows with related rows in one body. */
export const nestedWrites: Extension = { prepare: prepareNested }
