// The plan of a write.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { PlannedField, PlannedLogicTree } from './field.ts'

/** Rows in a staging table (see `sql/staging.ts`): those of the lines above `after`, up to `last`. */
export type StagedRange = { readonly table: string; readonly after: number; readonly last: number }

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
      } | null
      /** Conditions on the row in the body (PUT). */
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
      readonly primaryKey: readonly string[]
      readonly applyDefaults: boolean
    }
  | {
      readonly kind: 'update'
      readonly into: QualifiedIdentifier
      readonly columns: readonly PlannedField[]
      readonly body: string | null
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
      readonly applyDefaults: boolean
    }
  | {
      readonly kind: 'delete'
      readonly into: QualifiedIdentifier
      readonly where: readonly PlannedLogicTree[]
      readonly returning: readonly string[]
    }
