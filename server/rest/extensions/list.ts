// The extensions of the REST API, in the order in which their functions of each stage are called.
import type { Extension } from '../extension.ts'
import { batch } from './batch/extension.ts'
import { conditionalRequests } from './conditional-requests/extension.ts'
import { exportedRows } from './exports/extension.ts'
import { idempotency } from './idempotency/extension.ts'
import { groupings } from './distinct/extension.ts'
import { imports, type ImportsOptions } from './imports/extension.ts'
import { keysetPages } from './keyset-pages/extension.ts'
import { limits, type LimitsOptions } from './limits/extension.ts'
import { nestedWrites } from './nested-writes/extension.ts'
import { readYourWrites } from './read-your-writes/extension.ts'
import { readableColumns } from './readable-columns/extension.ts'
import { rowsByKey } from './rows-by-key/extension.ts'

export type ExtensionOptions = ImportsOptions & LimitsOptions

export const createExtensions = (options: ExtensionOptions): readonly Extension[] => [
  limits(options),
  readYourWrites,
  readableColumns,
  batch,
  imports(options),
  nestedWrites,
  groupings,
  keysetPages,
  rowsByKey,
  conditionalRequests,
  idempotency,
  exportedRows(),
]
