// The input of all passes of the planner.
import type { RestSettings } from '../settings.ts'
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { RoleColumns } from '../extensions/readable-columns/starred.ts'
import type { ApiRequest } from '../request/api-request.ts'
import type { VersionSettings } from '../extensions/conditional-requests/row-version.ts'

export type PlanSettings = Pick<
  RestSettings,
  | 'dbMaxRows'
  | 'dbMaxEmbedDepth'
  | 'dbAggregatesEnabled'
  | 'dbPlanEnabled'
  | 'urlIgnoreTrailingText'
  | 'urlUseLegacyTargetNames'
> &
  VersionSettings & {
    /** Set if `*` means the columns that the role may read. */
    readonly readableColumns?: RoleColumns | undefined
  }

export type PlanContext = {
  readonly request: ApiRequest
  readonly cache: SchemaCache
  readonly settings: PlanSettings
  /** The root relation: what is read or written, or the row type that a function returns. */
  readonly relation: QualifiedIdentifier
}
