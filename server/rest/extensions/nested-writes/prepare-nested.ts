// Prepares a nested write: POST whose body has keys that name relationships.
import { qualifiedKey, type QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { BodyProblem, BodyValidator } from '../../validation.ts'
import { errors } from '../../errors.ts'
import type { PrepareContext, Prepared } from '../../extension.ts'
import { nestedErrors, pointerToken } from './nested-errors.ts'
import { planNestedWrite } from './nested-planner.ts'
import { nestedRelationship } from './nested-relationship.ts'
import { maxSteps } from './nested-steps.ts'
import { locateError, unmatchedError } from './nested-path.ts'
import type { NestedPlan, NestedStep, RowsStep } from './nested-write.ts'
import { planRequest } from '../../plan/planner.ts'
import type { PlanSettings } from '../../plan/plan-context.ts'
import type { ApiRequest } from '../../request/api-request.ts'
import { parseJson } from '../../request/payload.ts'
import { listedProblems } from '../../request/payload-check.ts'
import { hasMoreSigns, mostSigns } from '../../../text/json-text.ts'
import { render } from '../../sql/fragment.ts'
import { nestedStatement, writtenRoot } from './nested-sql.ts'
import { writtenStatement } from '../../sql/statement.ts'

/** Maximum length of a body with related rows. */
const maxLength = 1_000_000

/**
 * Prepares a request if keys of its body name relationships. In PostgREST, all of these are unknown columns.
 *
 * @returns undefined for any other request
 * @throws ApiError
 */
export function prepareNested(
  request: ApiRequest,
  settings: PlanSettings,
  { schemaCache: cache, extensions, validator }: PrepareContext,
): Prepared | undefined {
  const { action, columns, namedColumns, contentType, preferences, method, onConflict } = request.shape
  const { payload } = request.input
  if (action.kind !== 'mutate' || action.mutation === 'delete' || contentType.kind !== 'json') return undefined
  if (payload?.kind !== 'json' && payload?.kind !== 'raw-json') return undefined
  const table = cache.tables.get(qualifiedKey(action.relation.schema, action.relation.name))
  if (!table) return undefined
  const names = columns.filter((name) => !table.columns.has(name))
  // Aliases make the number of keys unlimited.
  const examined = names.slice(0, maxSteps)
  const key = examined.find((name) => isRelationship(cache, table, name))
  if (key === undefined) return undefined
  if (action.mutation !== 'create') throw nestedErrors.onlyPost(key, method)
  // Names the unknown column as a write without related rows does.
  const unknown = examined.find((name) => !isRelationship(cache, table, name))
  if (unknown !== undefined) throw errors.noColumn(table.name, unknown)
  if (names.length > maxSteps) throw nestedErrors.tooManySteps(maxSteps)
  if (payload.text.length > maxLength || hasMoreSigns(payload.text, mostSigns))
    throw nestedErrors.tooLarge(maxLength, mostSigns)
  if (payload.kind === 'raw-json') parseJson(payload.text)

  const own = columns.filter((name) => table.columns.has(name))
  const planned: ApiRequest = { ...request, shape: { ...request.shape, columns: own } }
  const plan = planRequest(planned, cache, settings, extensions)
  if (plan.kind !== 'mutate' || plan.mutate.kind !== 'insert') return undefined
  if (plan.explain) throw nestedErrors.explained()
  const { mutate } = plan
  const nestedPlan = planNestedWrite(
    {
      table,
      body: payload.text,
      namedColumns,
      resolution: preferences.resolution,
      onConflict,
      applyDefaults: mutate.applyDefaults,
      maxDepth: settings.dbMaxEmbedDepth,
      returning: mutate.returning,
    },
    cache,
  )
  checkRows(nestedPlan, validator)
  const main = render(writtenStatement(plan, planned.shape, writtenRoot(nestedPlan, mutate)))
  const { steps } = nestedPlan
  return {
    request: planned,
    plan,
    main,
    hasNoEffect: false,
    keepsSession: false,
    nested: {
      statements: steps.map((step) => render(nestedStatement(step))),
      writes: steps.map(writtenBy),
      errorOf: (results) => unmatchedError(results, steps),
      locate: (error, statement) => {
        const step = steps[statement]
        return step ? locateError(error, step) : error
      },
    },
  }
}

function writtenBy(step: NestedStep): QualifiedIdentifier {
  if (step.kind === 'junction') return step.into
  return (step.kind === 'existing' ? step.of : step).level.into
}

function isRelationship(cache: SchemaCache, table: Parameters<typeof nestedRelationship>[1], key: string): boolean {
  try {
    return nestedRelationship(cache, table, key) !== undefined
  } catch {
    // The key names several, which the planner reports with its place in the body.
    return true
  }
}

/** @throws ApiError PGRST102 whose details list what violates the JSON Schemas of the tables, by pointer into the body */
function checkRows({ steps }: NestedPlan, validator: BodyValidator): void {
  const problems: BodyProblem[] = []
  for (const step of steps) if (step.kind === 'rows') problems.push(...problemsOf(step, validator))
  if (problems.length > 0) {
    throw errors.invalidBody('The body does not match the schema of the table', listedProblems(problems.slice(0, 100)))
  }
}

function* problemsOf({ level, rows, links }: RowsStep, validator: BodyValidator): Generator<BodyProblem> {
  const table = validator.forTable(level.into.schema, level.into.name)
  if (!table) return
  const linked = new Set(links.flatMap(({ columns }) => columns.map(({ name }) => pointerToken(name))))
  for (const { path, text } of rows) {
    for (const { pointer, message } of table.validateInsert(JSON.parse(text))) {
      // The relationship sets its columns, which the body does not have.
      if (!linked.has(pointer)) yield { pointer: path + pointer, message }
    }
  }
}
