// Rejects requests with large bodies before reading the body, if they fail for any body: the path names no table or
// function, or the role lacks the privilege for it.
//
// Privileges are read from the database, not from the schema cache: they change without a reload, and the error must be
// the same as for a request with a small body.
import type { Identity } from '../identity/identity.ts'
import { qualifiedKey } from '../catalogue/identifier.ts'
import type { SchemaCache } from '../catalogue/schema-cache.ts'
import { addressedBy, type AnswerContext } from './extension.ts'
import { ApiError, errors } from './errors.ts'
import type { InspectPlan } from './plan/plan.ts'
import { findTable } from './plan/planner.ts'
import { routineHint } from './plan/suggestion.ts'
import type { HttpRequest, PlannedRequest, RequestShape } from './request/api-request.ts'
import { parseApiRequest, parseRequestHead } from './request/parse-api-request.ts'
import { requestTransaction } from './request-transaction.ts'
import { serverError, toApiError, transactionError } from './sql-errors.ts'
import { render } from './sql/fragment.ts'
import { mayRepeatStatement, failingStatement, privilegeStatement, type WriteTarget } from './sql/write-privilege.ts'

/** insufficient_privilege */
const insufficientPrivilege = '42501'

const anyObject = Buffer.from('{}')

/**
 * Checks whether the body of a request is worth reading.
 *
 * @param http the request without its body
 * @throws ApiError the error that the request would end with; PGRST000 and PGRST003 when there is no connection
 */
export async function admit(http: HttpRequest, identity: Identity, context: AnswerContext): Promise<void> {
  const { schemaCache: cache, snapshot, extensions, trace } = context
  const addressed = addressedBy(http, extensions)
  // Errors in the rest of the request take precedence over those of the body. `{}` is a valid body for parsing.
  const headers = http.headers.filter(([name]) => name !== 'content-type')
  const bodied = { ...(addressed?.http ?? http), headers, body: anyObject }
  const { config } = snapshot
  const head = parseRequestHead(bodied, config, extensions.parameter)
  const { request: parsed } = parseApiRequest(bodied, config, head)
  const request = addressed?.complete(parsed, cache) ?? parsed
  const target = targetOf(parsed.shape, cache)
  if (!target) return
  trace.route = target.kind === 'call' ? `rpc/${target.routine.name}` : target.into.name
  if (await maySucceed(target, request, identity, context)) return
  const rejection = await rejectionOf(target, request, identity, context)
  if (rejection) throw rejection
}

/** @throws ApiError PGRST205 for an unknown table, PGRST202 for an unknown function */
function targetOf({ action }: RequestShape, cache: SchemaCache): WriteTarget | undefined {
  switch (action.kind) {
    case 'mutate': {
      const table = findTable(cache, action.relation)
      const [column] = table.columns.keys()
      if (action.mutation === 'delete' || column === undefined) return undefined
      return action.mutation === 'update'
        ? { kind: 'update', into: action.relation, column }
        : { kind: 'insert', into: action.relation }
    }
    case 'call': {
      const { routine } = action
      const overloads = cache.routines.get(qualifiedKey(routine.schema, routine.name))
      if (overloads) return { kind: 'call', routine, overloads }
      const name = `${routine.schema}.${routine.name}`
      const details = `Searched for the function ${name}, but no matches were found in the schema cache.`
      throw errors.noRoutine(name, details, routineHint(cache, routine, []))
    }
    default:
      return undefined
  }
}

const inspection = (schema: string): InspectPlan => ({ kind: 'inspect', schema, headersOnly: false, readOnly: true })

/**
 * Whether the request may succeed. That includes a volatile pre-request function: it may switch to another role, and
 * the check must not run it, since it runs again with the body. It also includes errors of the check itself, such as a
 * role without access to the catalog.
 */
async function maySucceed(
  target: WriteTarget,
  request: PlannedRequest,
  identity: Identity,
  context: AnswerContext,
): Promise<boolean> {
  const { database, snapshot } = context
  const { config } = snapshot
  const statements = [render(privilegeStatement(target))]
  if (config.dbPreRequest) statements.push(render(mayRepeatStatement(config.dbPreRequest)))
  try {
    const plan = inspection(request.shape.schema)
    const transaction = requestTransaction(plan, request, identity, untraced(context), statements)
    const { rows } = await database.run(
      { ...transaction, before: [], mayUseReplica: false, hasNoEffect: true, isolation: null, rollback: false },
      { prepare: config.dbPreparedStatements, sharing: 'none' },
    )
    const [hasPrivilege, mayRepeat] = rows.map(([row]) => row?.[0]?.toString())
    return hasPrivilege !== 'f' || (config.dbPreRequest !== null && mayRepeat !== 't')
  } catch (error) {
    if (serverError(error)) return true
    throw transactionError(error, false)
  }
}

/** The check is not part of the request, so its statements are not logged. */
const untraced = (context: AnswerContext): AnswerContext => ({
  ...context,
  trace: { ...context.trace, statements: undefined },
})

/**
 * The error that the database raises for a role without the privilege, or the error of the pre-request function, which
 * runs first and may switch to another role. Undefined unless the request is certain to fail.
 */
async function rejectionOf(
  target: WriteTarget,
  request: PlannedRequest,
  identity: Identity,
  context: AnswerContext,
): Promise<ApiError | undefined> {
  const readOnly = target.kind === 'call' && target.overloads.every(({ volatility }) => volatility !== 'volatile')
  const plan = { ...inspection(request.shape.schema), readOnly }
  const { config } = context.snapshot
  const transaction = requestTransaction(plan, request, identity, context, [render(failingStatement(target))])
  try {
    await context.database.run({ ...transaction, rollback: true }, { prepare: false, sharing: 'none' })
    return undefined
  } catch (error) {
    const rejection = serverError(error)
    if (!rejection) throw transactionError(error, false)
    return rejection.code === insufficientPrivilege
      ? toApiError(rejection, identity.role !== config.dbAnonRole)
      : undefined
  }
}
