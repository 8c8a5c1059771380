// The plan of a request: resolved names, chosen relationships, known types.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { MediaHandler } from '../../catalogue/media-handler.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { MediaType } from '../media-type.ts'
import type { InvokeMethod, Mutation } from '../request/api-request.ts'
import type { CallPlan } from './call-plan.ts'
import type { MutatePlan } from './mutate-plan.ts'
import type { PagePlan } from '../extensions/keyset-pages/page-plan.ts'
import type { ReadPlan } from './read-plan.ts'
import type { MatchedCount, Precondition, RowVersion } from '../extensions/conditional-requests/version-plan.ts'

type Output = {
  readonly handler: MediaHandler
  readonly mediaType: MediaType
  /** Whether the media type is a `plan`: the response is the execution plan of the statement. */
  readonly explain: boolean
  /** The keyset page that a read or call is limited to. */
  readonly page?: PagePlan
  /** The setting `db-max-rows`, if it limits the rows of a read or call more than the request does. */
  readonly cutAt?: number
  /** Whether the rows may be streamed one by one. */
  readonly isStreamed?: boolean
}

/** A plan whose statement reads or writes rows. */
export type CrudPlan =
  | (Output & {
      readonly kind: 'read'
      readonly read: ReadPlan
      readonly readOnly: true
      readonly headersOnly: boolean
      readonly relation: QualifiedIdentifier
      /** The version that the statement returns, of reads of one row. */
      readonly version?: RowVersion | undefined
    })
  | (Output & {
      readonly kind: 'mutate'
      readonly read: ReadPlan
      readonly mutate: MutatePlan
      readonly mutation: Mutation
      readonly readOnly: false
      readonly relation: QualifiedIdentifier
      /** The version that the statement returns. */
      readonly version?: RowVersion | undefined
      readonly precondition?: Precondition | undefined
      /** Counts the rows that the filters match, if they may be several and there is a precondition. */
      readonly matchedCount?: MatchedCount
    })
  | (Output & {
      readonly kind: 'call'
      readonly read: ReadPlan
      readonly call: CallPlan
      readonly routine: Routine
      readonly method: InvokeMethod
      readonly readOnly: boolean
      readonly relation: QualifiedIdentifier
    })

/** The description of a schema (OpenAPI). */
export type InspectPlan = {
  readonly kind: 'inspect'
  readonly schema: string
  readonly headersOnly: boolean
  readonly readOnly: true
}

/** A plan for OPTIONS, which needs no database. */
export type InfoPlan =
  | { readonly kind: 'relation-info'; readonly relation: QualifiedIdentifier }
  | { readonly kind: 'routine-info'; readonly routine: Routine }
  | { readonly kind: 'schema-info' }

export type ActionPlan = CrudPlan | InspectPlan | InfoPlan
