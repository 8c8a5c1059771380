// Plans as data, for tests of the stages after planning, with defaults for omitted members.
import type { MediaHandler } from '../../server/catalogue/media-handler.ts'
import type { Routine, RoutineParameter } from '../../server/catalogue/routine.ts'
import type { CallPlan } from '../../server/rest/plan/call-plan.ts'
import type { PlannedField, PlannedFilter, PlannedLogicTree, PlannedSelectField } from '../../server/rest/plan/field.ts'
import type { MutatePlan } from '../../server/rest/plan/mutate-plan.ts'
import type { CrudPlan } from '../../server/rest/plan/plan.ts'
import type { EmbedPlan, JoinCondition, ReadPlan } from '../../server/rest/plan/read-plan.ts'
import type { PlannedRequest, RequestInput, RequestShape } from '../../server/rest/request/api-request.ts'
import type { Operation } from '../../server/rest/request/filter.ts'
import type { ForeignKeyRelationship } from '../../server/catalogue/relationship.ts'

export const inSchema = (name: string, schema = 'api') => ({ schema, name })

export const field = (name: string, more: Partial<PlannedField> = {}): PlannedField => ({
  name,
  jsonPath: [],
  toJson: false,
  toTsVector: null,
  type: '',
  baseType: '',
  transform: null,
  default: null,
  fullRow: false,
  ...more,
})

export const selected = (name: string, more: Partial<PlannedSelectField> = {}): PlannedSelectField => ({
  field: field(name),
  aggregate: null,
  aggregateCast: null,
  cast: null,
  alias: null,
  ...more,
})

export const filter = (name: string | PlannedField, operation: Operation, negated = false): PlannedFilter => ({
  kind: 'field',
  field: typeof name === 'string' ? field(name) : name,
  negated,
  operation,
})

export const where = (name: string | PlannedField, operation: Operation, negated = false): PlannedLogicTree => ({
  kind: 'filter',
  filter: filter(name, operation, negated),
})

export const equals = (value: string): Operation => ({
  kind: 'quantifiable',
  operator: 'eq',
  quantifier: null,
  value,
})

/** A plan of a relation: an embed where `more` says how it is related to its parent. */
export function readPlan(name: string, more: Partial<EmbedPlan> & Pick<EmbedPlan, 'toParent'>): EmbedPlan
export function readPlan(name: string, more?: Partial<ReadPlan>): ReadPlan
export function readPlan(name: string, more: Partial<ReadPlan> = {}): ReadPlan {
  return {
    select: [selected('*')],
    from: inSchema(name),
    fromAlias: null,
    where: [],
    order: [],
    range: { offset: 0, limit: null },
    relationName: name,
    alias: null,
    aggregateAlias: '',
    joinType: null,
    toParent: null,
    computedArgument: null,
    joinConditions: [],
    spread: null,
    relationSelect: [],
    addressedByLegacyName: false,
    embeds: [],
    ...more,
  }
}

export const joined = (
  left: readonly [string, string, string?],
  right: readonly [string, string, string?],
): JoinCondition => ({
  left: { relation: inSchema(left[0], left[2] ?? 'api'), column: left[1] },
  right: { relation: inSchema(right[0], right[2] ?? 'api'), column: right[1] },
})

export const relationship = (
  table: string,
  foreignTable: string,
  cardinality: ForeignKeyRelationship['cardinality'],
): ForeignKeyRelationship => ({
  kind: 'foreign-key',
  table: inSchema(table),
  foreignTable: inSchema(foreignTable),
  isSelf: false,
  cardinality,
  tableIsView: false,
  foreignTableIsView: false,
})

export const routine = (name: string, more: Partial<Routine> = {}): Routine => ({
  schema: 'api',
  name,
  description: null,
  parameters: [],
  returns: { setOf: false, type: { schema: 'pg_catalog', name: 'int4' }, composite: false, compositeAlias: false },
  volatility: 'volatile',
  hasVariadic: false,
  isolationLevel: null,
  settings: [],
  ...more,
})

export const argument = (name: string, type: string, more: Partial<RoutineParameter> = {}): RoutineParameter => ({
  name,
  type,
  castType: type,
  required: true,
  variadic: false,
  ...more,
})

export const callPlan = (name: string, more: Partial<CallPlan> = {}): CallPlan => ({
  routine: inSchema(name),
  parameters: { kind: 'named', parameters: [] },
  arguments: { kind: 'body', body: null },
  returnsScalar: false,
  returnsSetOfScalar: false,
  filterFields: [],
  returning: ['*'],
  ...more,
})

const answer = { handler: { kind: 'json' }, mediaType: { kind: 'json' }, explain: false } as const

type Answer = Partial<Pick<CrudPlan, 'mediaType' | 'explain'>> & { handler?: MediaHandler }
type OfKind<K extends CrudPlan['kind']> = CrudPlan & { kind: K }

export const reading = (read: ReadPlan, more: Answer & { headersOnly?: boolean } = {}): OfKind<'read'> => ({
  ...answer,
  kind: 'read',
  read,
  readOnly: true,
  headersOnly: false,
  relation: read.from,
  ...more,
})

/** The read plan of a write or a call, which reads from the common table expression. */
export const fromSource = (name: string, more: Partial<ReadPlan> = {}): ReadPlan =>
  readPlan(name, { from: { schema: '', name: 'pgrst_source' }, fromAlias: name, ...more })

const mutations = { insert: 'create', update: 'update', delete: 'delete' } as const

export const writing = (
  mutate: MutatePlan,
  more: Answer & Partial<Pick<OfKind<'mutate'>, 'mutation' | 'read'>> = {},
): OfKind<'mutate'> => ({
  ...answer,
  kind: 'mutate',
  read: fromSource(mutate.into.name),
  mutate,
  mutation: mutations[mutate.kind],
  readOnly: false,
  relation: mutate.into,
  ...more,
})

export const calling = (
  call: CallPlan,
  called: Routine,
  more: Answer & Partial<Pick<OfKind<'call'>, 'read' | 'method' | 'readOnly'>> = {},
): OfKind<'call'> => ({
  ...answer,
  kind: 'call',
  read: fromSource(called.returns.composite ? called.returns.type.name : called.name),
  call,
  routine: called,
  method: 'post',
  readOnly: false,
  relation: call.routine,
  ...more,
})

export const insertPlan = (
  into: string,
  columns: readonly PlannedField[],
  body: string | null,
  more: Partial<MutatePlan & { kind: 'insert' }> = {},
): MutatePlan & { kind: 'insert' } => ({
  kind: 'insert',
  into: inSchema(into),
  columns,
  body,
  onConflict: null,
  where: [],
  returning: [],
  primaryKey: [],
  applyDefaults: false,
  ...more,
})

export const updatePlan = (
  into: string,
  columns: readonly PlannedField[],
  body: string | null,
  more: Partial<MutatePlan & { kind: 'update' }> = {},
): MutatePlan & { kind: 'update' } => ({
  kind: 'update',
  into: inSchema(into),
  columns,
  body,
  where: [],
  returning: [],
  applyDefaults: false,
  ...more,
})

export const deletePlan = (
  into: string,
  more: Partial<MutatePlan & { kind: 'delete' }> = {},
): MutatePlan & { kind: 'delete' } => ({ kind: 'delete', into: inSchema(into), where: [], returning: [], ...more })

/** Shape and input of a request, together. */
export type FlatRequest = RequestShape & RequestInput

/** A request from members of its shape and its input, with defaults for omitted ones. */
export const plannedRequest = (more: Partial<FlatRequest> = {}): PlannedRequest => {
  const { headers = [], cookies = [], payload, canonicalQuery = '', ...shape } = more
  return { shape: requestShape(shape), input: { headers, cookies, payload, canonicalQuery } }
}

export const requestShape = (more: Partial<RequestShape> = {}): RequestShape => ({
  action: { kind: 'schema-info' },
  method: 'GET',
  path: '/items',
  topLevelRange: { offset: 0, limit: null },
  columns: [],
  namedColumns: undefined,
  onConflict: undefined,
  preferences: { invalid: [] },
  schema: 'api',
  negotiatedByProfile: false,
  contentType: { kind: 'json' },
  ...more,
})
