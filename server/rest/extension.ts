// What extensions add to the stages of a request, and what the stages pass on to each other. The core imports only types
// of extensions: it gets a list of them, and calls the functions of each stage in the order of the list.
import type { QualifiedIdentifier } from '../catalogue/identifier.ts'
import type { MediaHandler } from '../catalogue/media-handler.ts'
import type { SchemaCache } from '../catalogue/schema-cache.ts'
import type { Identity } from '../identity/identity.ts'
import type { StatementStats } from '../common/statement-stats.ts'
import type { BatchDatabase, Caller, Consistency, Database, PipelineStatement, Precheck } from './database.ts'
import type { RawRow, RowsRequest } from './row-transfer.ts'
import type { ApiError } from './errors.ts'
import type { RateDecision } from './extensions/limits/rate-limiter.ts'
import type { RequestConsistency } from './extensions/read-your-writes/request-consistency.ts'
import type { PlanCache } from './cache/plan-cache.ts'
import type { PageCursors, PageInput, ScopedCursor, WrongCursor } from './extensions/keyset-pages/page-cursor.ts'
import type { RoleColumns } from './extensions/readable-columns/starred.ts'
import type { EmbedTree } from './plan/embed-tree.ts'
import type { PlanContext, PlanSettings } from './plan/plan-context.ts'
import type { RelatedEmbed } from './plan/related-embed.ts'
import type { ReadNode, ReadPlan } from './plan/read-plan.ts'
import type { ActionPlan, CrudPlan, InspectPlan } from './plan/plan.ts'
import type { QueryParams } from './request/query-params.ts'
import type { ApiRequest, HttpRequest, PlannedRequest, RequestShape } from './request/api-request.ts'
import type { BodyGate } from './request/body.ts'
import type { FurtherParameter } from './request/further-parameters.ts'
import type { Notices } from './response/finish.ts'
import type { RestResponse, ResultRow } from './response/result.ts'
import type { RestRequest } from './rest-request.ts'
import type { RestSettings } from './settings.ts'
import type { PartsOf, RequestLimits, Snapshot, SnapshotParts } from './snapshot.ts'
import type { Statement } from './sql/fragment.ts'
import type { BodyValidator } from './validation.ts'

export type AnswerContext = {
  readonly database: Database
  readonly extensions: Extensions
  /** Who waits for the response. */
  readonly caller: Caller
  readonly snapshot: Snapshot
  readonly schemaCache: SchemaCache
  readonly validator: BodyValidator
  /** Mount path without a slash at its end. */
  readonly basePath: string
  /** Duration of the authentication in milliseconds; undefined when stages are not timed. */
  readonly authenticationTime: number | undefined
  /** The header `Idempotency-Key` of a POST or PATCH request. */
  readonly idempotencyKey: string | undefined
  /**
   * Counts further requests against the limits of the caller; undefined without limits.
   *
   * @throws ApiError PGRSTX80, as a rejection
   */
  readonly countRequests?: ((count: number) => Promise<void>) | undefined
  readonly trace: AnswerTrace
  /** Undefined unless the database has replicas. */
  readonly consistency?: Consistency | undefined
  /** Whether the response may be streamed row by row. */
  readonly mayStream: boolean
}

/** The context of a request that is not part of a batch. */
export type RequestContext = AnswerContext & { readonly database: BatchDatabase }

/** Collects data for logs and metrics while a request runs. */
export type AnswerTrace = {
  /** Name of the relation or function, once it is known to exist. */
  route: string | undefined
  /** Texts of the statements; undefined when they are not logged. */
  readonly statements: string[] | undefined
  /** Describes deprecated features that the request uses. */
  warning: string | undefined
}

export type PrepareContext = {
  readonly snapshot: {
    readonly config: RestSettings & PlanSettings
    readonly plans: PlanCache
    readonly cursors: PageCursors | undefined
    readonly mayRepeatPreRequest: boolean
    readonly encodesRows: boolean
  }
  readonly extensions: Extensions
  readonly schemaCache: SchemaCache
  readonly validator: BodyValidator
  readonly readableColumns?: RoleColumns
}

/** Paths that stand for a request with another path. Such requests are not cached. */
export type Address = {
  readonly has: (path: string) => boolean
  /** @throws ApiError for an invalid path */
  readonly of: (http: HttpRequest) => Addressed
}

/** The request that a path stands for. */
export type Addressed = {
  readonly http: HttpRequest
  /** @throws ApiError for a path that no request can have, which takes precedence over all other errors */
  readonly require: (settings: Pick<RestSettings, 'dbSchemas'>, cache: SchemaCache) => void
  /** @param request parsed */
  readonly complete: (request: ApiRequest, cache: SchemaCache) => ApiRequest
  readonly completePlan: (plan: ActionPlan) => ActionPlan
}

/** What the plan of a request was made from. */
export type PlannedContext = PlanContext & {
  /** The handler of a GET request in place of HEAD. */
  readonly bodyHandler: MediaHandler
}

/** A request with its plan and statement. */
export type Prepared = {
  readonly request: PlannedRequest
  readonly plan: ActionPlan
  /** Whether it certainly has no effect outside its transaction; see `effect.ts`. */
  readonly hasNoEffect: boolean
  /** Whether nothing that it executes can set anything for the session of its connection; see `effect.ts`. */
  readonly keepsSession: boolean
  /** The main statement; undefined for plans without one. */
  readonly main: Statement | undefined
  /** Statistics of earlier runs of the statement, if its shape is cached. */
  readonly stats?: StatementStats
  /** What may run in place of the main statement: see `PipelineStatement.rows`. */
  readonly rows?: RowsRequest | undefined
  /** For a write with related rows: what runs before the main statement. It is never cached. */
  readonly nested?: NestedStatements
}

/** Rows of the statements of a transaction. */
export type Results = readonly (readonly RawRow[])[]

/** Statements that write related rows. The main statement reads what they have written. */
export type NestedStatements = {
  readonly statements: readonly Statement[]
  /** The relations that they write to. */
  readonly writes: readonly QualifiedIdentifier[]
  /** The error of their results; undefined for valid ones. */
  readonly errorOf: (results: Results) => ApiError | undefined
  /** Adds the place in the body to the error of one of the statements. */
  readonly locate: (error: ApiError, statement: number) => ApiError
}

/** What a write requires of its result, besides what every write does. Otherwise, it is rolled back. */
export type Requirement = {
  /** Runs after the main statement. */
  readonly statement: PipelineStatement | undefined
  /** @param rows those of the statement */
  readonly errorOf: (row: ResultRow, rows: readonly RawRow[] | undefined) => ApiError | undefined
}

export type Answered = { readonly response: RestResponse; readonly notices: Notices }

/**
 * Answers a request that acts as an identity. Errors found before a database round trip are returned synchronously.
 *
 * @throws ApiError as a rejection, for errors of the database and of its result
 */
export type Answer = (http: HttpRequest, identity: Identity, context: RequestContext) => Promise<Answered> | ApiError

/** A path of an extension. The privileges of its caller are not checked before a large body is read. */
export type Route = {
  /** Maximum size of its body in bytes, if that of all bodies is not lower. */
  readonly bodyLimit: number
  readonly answer: Answer
}

/** A body that an extension reads while it answers the request. */
export type OpenBody = {
  /** Whether the whole body has arrived. */
  readonly isComplete: () => boolean
  /** Gets the request without its body. */
  readonly answer: Answer
}

/** How the plan cache reads which page a request asks for. */
export type Paging = {
  /** The cursor of a request; undefined without one. */
  readonly cursorOf: (params: QueryParams, cursors: PageCursors) => ScopedCursor | WrongCursor | undefined
  /** @throws ApiError when the cursor is of another request */
  readonly pageInput: (shape: RequestShape, query: string, cursor: ScopedCursor | undefined) => PageInput
  readonly withPage: (request: ApiRequest, page: PageInput) => ApiRequest
}

/**
 * An extension: what it adds to each stage of a request. Where a function may return undefined, the first one that returns
 * something else counts; where it returns what it was given, each gets what the one before it has returned.
 */
export type Extension = {
  /** Creates what the extension keeps as long as settings and schema are the same. */
  readonly parts?: PartsOf
  /** Counts requests against the limits of their caller. An error in the result refuses them. */
  readonly countRequests?: (
    limits: RequestLimits,
    identity: Identity,
    count: number,
  ) => RateDecision | undefined | Promise<RateDecision | undefined>
  /** The positions of a request and of its response, for a database with replicas. */
  readonly consistency?: (request: RestRequest, snapshot: Snapshot) => RequestConsistency | undefined
  /** Finds the route of a POST request, which has no body yet. */
  readonly route?: (http: HttpRequest, context: RequestContext) => Route | undefined
  /**
   * Opens the body of a request instead of `readBody`.
   *
   * @param http the request without its body
   * @returns undefined for any other body; otherwise a promise of the opened body, or of a whole body that turned out to
   *   be like any other
   */
  readonly openBody?: (
    request: RestRequest,
    http: HttpRequest,
    gate: BodyGate,
    context: RequestContext,
  ) => Promise<OpenBody | Buffer> | undefined
  /** A parameter of the query string. */
  readonly parameter?: FurtherParameter
  readonly address?: Address
  readonly paging?: Paging
  /** Changes a request that was parsed. */
  readonly request?: (request: ApiRequest, http: HttpRequest, context: PrepareContext) => ApiRequest
  /** Plans a request and writes its statements, instead of the stages. */
  readonly prepare?: (request: ApiRequest, settings: PlanSettings, context: PrepareContext) => Prepared | undefined
  /** Decides which parameters are arguments of the function that a request calls. */
  readonly call?: (request: ApiRequest, cache: SchemaCache, routine: QualifiedIdentifier) => ApiRequest
  /** The last pass that adds parameters to the tree of a read, with the names in the request. */
  readonly tree?: (tree: EmbedTree, context: PlanContext) => EmbedTree
  /** Adds the same to the plan of a relation, whose embeds have their relationships. */
  readonly node?: (node: ReadNode, tree: EmbedTree, embeds: readonly RelatedEmbed[]) => ReadNode
  /** Checks the plan of a read. */
  readonly read?: (plan: ReadPlan, context: PlanContext) => ReadPlan
  /** The last pass of a plan. What it adds to the plan has the functions that write its SQL. */
  readonly plan?: (plan: CrudPlan, context: PlannedContext) => CrudPlan
  /** Runs a plan and writes the response, instead of `runCrud` and `respondTo`. */
  readonly execute?: (
    plan: CrudPlan,
    prepared: Prepared,
    http: HttpRequest,
    identity: Identity,
    context: AnswerContext,
  ) => Promise<RestResponse> | undefined
  /** A check that precedes the statements of a plan, after the pre-request function. */
  readonly check?: (plan: CrudPlan | InspectPlan, snapshot: Snapshot) => PipelineStatement | undefined
  /** Decides by the execution plans of the statements whether they run. */
  readonly precheck?: (
    main: PipelineStatement,
    nested: readonly PipelineStatement[] | undefined,
    settings: RestSettings,
  ) => Precheck | undefined
  readonly requirement?: (plan: CrudPlan, request: PlannedRequest) => Requirement | undefined
  /** Changes the response to a read, a write or a call. */
  readonly respond?: (
    response: RestResponse,
    plan: CrudPlan,
    row: ResultRow,
    prepared: Prepared,
    context: AnswerContext,
  ) => RestResponse
  /** Changes the response with the description of a schema. */
  readonly respondDocument?: (response: RestResponse, request: PlannedRequest) => RestResponse
}

/** The functions of all extensions, by stage. */
export type Extensions = { readonly [Stage in keyof Extension]-?: readonly NonNullable<Extension[Stage]>[] }

/** Collects the functions of extensions once, so that a request calls only those that there are. */
export function extensionsOf(list: readonly Extension[]): Extensions {
  const of = <Stage extends keyof Extension>(stage: Stage): readonly NonNullable<Extension[Stage]>[] =>
    list.map((extension) => extension[stage]).filter((value) => value !== undefined)
  return {
    parts: of('parts'),
    countRequests: of('countRequests'),
    consistency: of('consistency'),
    route: of('route'),
    openBody: of('openBody'),
    parameter: of('parameter'),
    address: of('address'),
    paging: of('paging'),
    request: of('request'),
    prepare: of('prepare'),
    call: of('call'),
    tree: of('tree'),
    node: of('node'),
    read: of('read'),
    plan: of('plan'),
    execute: of('execute'),
    check: of('check'),
    precheck: of('precheck'),
    requirement: of('requirement'),
    respond: of('respond'),
    respondDocument: of('respondDocument'),
  }
}

/** Creates what all extensions keep with a snapshot. */
export const partsOf =
  ({ parts }: Extensions): PartsOf =>
  (config, secrets) =>
    parts.reduce((last: SnapshotParts, of) => ({ ...last, ...of(config, secrets) }), {})

export const noExtensions = extensionsOf([])

/** The request that the path of a request stands for; undefined for other requests. */
export const addressedBy = (http: HttpRequest, { address }: Extensions): Addressed | undefined =>
  address.find(({ has }) => has(http.path))?.of(http)

/** The first result of functions that is not undefined. */
export function firstOf<Given extends readonly unknown[], Result>(
  functions: readonly ((...given: Given) => Result | undefined)[],
  ...given: Given
): Result | undefined {
  for (const run of functions) {
    const result = run(...given)
    if (result !== undefined) return result
  }
  return undefined
}
