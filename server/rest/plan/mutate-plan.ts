// The plan of a write.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedField, PlannedLogicTree } from './field.ts'
import type { RequiredVersions } from '../extensions/conditional-requests/version-plan.ts'
import type { StagedRange } from '../extensions/imports/staging.ts'

export type MutatePlan =
  | {
      readonly kind: 'insert'
      readonly into: QualifiedIdentifier
      readonly columns: readonly PlannedField[]
      /** JSON text: an object or an array of objects. */
      readonly body: string | null
      /** The rows of an import, which replace `body`. */
      readonly staged?: StagedRange
      readonly onConflict: {
        readonly resolution: 'merge-duplicates' | 'ignore-duplicates'
        readonly columns: readonly string[]
        /** What names the index if the columns do not: see `ConflictTarget`. */
        readonly target?: string
      } | null
      /** Whether the table is distributed, so that an upsert cannot count the rows that it updates. */
      readonly isDistributed?: boolean
      /** Conditions on the row in the body (PUT). */
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
      readonly primaryKey: readonly string[]
      /** Whether rows of the body are counted only if they satisfy `where`, for the precondition of a PUT. */
      readonly isConditional?: boolean
      readonly applyDefaults: boolean
      readonly versions?: RequiredVersions | undefined
    }
  | {
      readonly kind: 'update'
      readonly into: QualifiedIdentifier
      readonly columns: readonly PlannedField[]
      readonly body: string | null
      /** Whether the table is distributed, so that the rows of the body must be a subquery of their own. */
      readonly isDistributed?: boolean
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
      readonly applyDefaults: boolean
      readonly versions?: RequiredVersions | undefined
    }
  | {
      readonly kind: 'delete'
      readonly into: QualifiedIdentifier
      readonly versions?: RequiredVersions | undefined
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
    }
