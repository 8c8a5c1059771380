// Plans a request: resolves its names in the schema cache.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { Routine } from '../../catalogue/routine.ts'
import { returnedTableName, returnsSingle } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { Table } from '../../catalogue/table.ts'
import { errors } from '../errors.ts'
import { noExtensions, type Extensions, type PlannedContext } from '../extension.ts'
import { encodeMediaType } from '../media-type.ts'
import type { ApiRequest, InvokeMethod, Mutation, RequestShape } from '../request/api-request.ts'
import { argumentNames, planCall } from './call-planner.ts'
import type { LegacyName } from './embed-path.ts'
import { legacyNamesOf } from './embed-path.ts'
import { planMutation } from './mutate-planner.ts'
import { negotiate } from './negotiation.ts'
import type { PlanSettings } from './plan-context.ts'
import type { ActionPlan, CrudPlan, InspectPlan } from './plan.ts'
import { planRead, selectsAll } from './read-planner.ts'
import { chooseRoutine } from './routine-choice.ts'
import { tableHint } from './suggestion.ts'

/**
 * Creates the plan of a request.
 *
 * @throws ApiError PGRST105, PGRST107, PGRST108, PGRST118, PGRST122, PGRST123, PGRST127, PGRST128, PGRST200 to PGRST205
 */
export function planRequest(
  request: ApiRequest,
  cache: SchemaCache,
  settings: PlanSettings,
  extensions: Extensions = noExtensions,
): ActionPlan {
  const { action } = request.shape
  switch (action.kind) {
    case 'read':
      return extended(
        planReading(request, cache, settings, extensions, action.relation, action.headersOnly),
        extensions,
      )
    case 'mutate':
      return extended(planMutating(request, cache, settings, extensions, action.relation, action.mutation), extensions)
    case 'call':
      return extended(planCalling(request, cache, settings, extensions, action.routine, action.method), extensions)
    case 'inspect':
      return planInspection(request, action.schema, action.headersOnly)
    case 'relation-info':
      return { kind: 'relation-info', relation: action.relation }
    case 'routine-info': {
      // Chooses the function as for a HEAD request.
      const { plan } = planCalling(request, cache, settings, extensions, action.routine, 'head')
      return { kind: 'routine-info', routine: plan.routine }
    }
    case 'schema-info':
      return { kind: 'schema-info' }
    default:
      return action satisfies never
  }
}

/** A plan to which extensions may add. */
type Planned<Plan> = { readonly plan: Plan; readonly context: PlannedContext }

const extended = ({ plan, context }: Planned<CrudPlan>, { plan: passes }: Extensions): CrudPlan =>
  passes.reduce((last: CrudPlan, pass) => pass(last, context), plan)

/** Embeds that the request refers to by their relation's name although they have an alias, which is deprecated. */
export function legacyTargetNames(plan: ActionPlan): LegacyName[] {
  return plan.kind === 'read' || plan.kind === 'mutate' || plan.kind === 'call' ? legacyNamesOf(plan.read) : []
}

/** @throws ApiError PGRST205, with a hint if a table has a similar name */
export function findTable(cache: SchemaCache, relation: QualifiedIdentifier): Table {
  const table = cache.tables.get(qualifiedKey(relation.schema, relation.name))
  if (!table) throw errors.noTable(relation.schema, relation.name, tableHint(cache, relation))
  return table
}

function planReading(
  request: ApiRequest,
  cache: SchemaCache,
  settings: PlanSettings,
  extensions: Extensions,
  relation: QualifiedIdentifier,
  headersOnly: boolean,
): Planned<CrudPlan> {
  findTable(cache, relation)
  const context = { request, cache, settings, relation }
  const read = planRead(context, extensions)
  const { handler, bodyHandler, mediaType, explain } = negotiate(context, selectsAll(read))
  rejectInvalidPreferences(request.shape)
  const cut = cutOf(request.shape, settings)
  const plan = { kind: 'read', read, readOnly: true, headersOnly, relation, handler, mediaType, explain, ...cut } as const // prettier-ignore
  return { plan, context: { ...context, bodyHandler } }
}

function planMutating(
  request: ApiRequest,
  cache: SchemaCache,
  settings: PlanSettings,
  extensions: Extensions,
  relation: QualifiedIdentifier,
  mutation: Mutation,
): Planned<CrudPlan> {
  const table = findTable(cache, relation)
  const context = { request, cache, settings, relation }
  const read = planRead(context, extensions)
  const mutate = planMutation(mutation, table, context, read)
  rejectInvalidPreferences(request.shape)
  const { handler, bodyHandler, mediaType, explain } = negotiate(context, selectsAll(read))
  const plan = { kind: 'mutate', read, mutate, mutation, readOnly: false, relation, handler, mediaType, explain } as const // prettier-ignore
  return { plan, context: { ...context, bodyHandler } }
}

function planCalling(
  received: ApiRequest,
  cache: SchemaCache,
  settings: PlanSettings,
  extensions: Extensions,
  identifier: QualifiedIdentifier,
  method: InvokeMethod,
): Planned<Extract<CrudPlan, { kind: 'call' }>> {
  const request = extensions.call.reduce((last, change) => change(last, cache, identifier), received)
  const names = argumentNames(request, method)
  const { contentType } = request.shape
  const byBody = method === 'post'
  const routine = chooseRoutine(cache, { routine: identifier, argumentNames: names, byBody, contentType })
  // The result of a function is treated like the relation whose row type it has.
  const relation = { schema: routine.schema, name: returnedTableName(routine) ?? routine.name }
  const context = { request, cache, settings, relation }
  const read = planRead(context, extensions)
  const call = planCall(routine, request, method, names, read)
  const { handler, bodyHandler, mediaType, explain } = negotiate(context, selectsAll(read))
  rejectInvalidPreferences(request.shape)
  rejectMaxAffected(request.shape, routine)
  const readOnly = !byBody || routine.volatility !== 'volatile'
  const cut = returnsSingle(routine) ? {} : cutOf(request.shape, settings)
  const plan = { kind: 'call', read, call, routine, method, readOnly, relation: identifier, handler, mediaType, explain, ...cut } as const // prettier-ignore
  return { plan, context: { ...context, bodyHandler } }
}

/** Whether `db-max-rows` limits the rows more than the request does. */
function cutOf({ topLevelRange: { limit } }: RequestShape, { dbMaxRows }: PlanSettings): Pick<CrudPlan, 'cutAt'> {
  return dbMaxRows !== null && (limit === null || limit > dbMaxRows) ? { cutAt: dbMaxRows } : {}
}

function planInspection(request: ApiRequest, schema: string, headersOnly: boolean): InspectPlan {
  const acceptable = request.accept.some(({ kind }) => kind === 'openapi' || kind === 'json' || kind === 'any')
  if (!acceptable) throw errors.mediaType(request.accept.map(encodeMediaType))
  return { kind: 'inspect', schema, headersOnly, readOnly: true }
}

/** @throws ApiError PGRST122 */
function rejectInvalidPreferences({ preferences }: RequestShape): void {
  const { handling, invalid } = preferences
  if (handling === 'strict' && invalid.length > 0) throw errors.invalidPreferences(invalid)
}

/** @throws ApiError PGRST128: the rows affected by a function that returns a single value cannot be counted */
function rejectMaxAffected({ preferences }: RequestShape, routine: Routine): void {
  const { handling, maxAffected } = preferences
  if (handling === 'strict' && maxAffected !== undefined && returnsSingle(routine)) throw errors.maxAffectedRoutine()
}
