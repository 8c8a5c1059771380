// The plan of a write.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { PlannedField, PlannedLogicTree } from './field.ts'

export type MutatePlan =
  | {
      readonly kind: 'insert'
      readonly into: QualifiedIdentifier
      readonly columns: readonly PlannedField[]
      /** JSON text: an object or an array of objects. */
      readonly body: string | null
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
