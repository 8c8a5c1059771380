// Plans the call of a function.
import type { Routine } from '../../catalogue/routine.ts'
import { returnsScalar, returnsSetOfScalar } from '../../catalogue/routine.ts'
import type { ApiRequest, InvokeMethod, Payload } from '../request/api-request.ts'
import type { ArgumentValue, CallArguments, CallParameters, CallPlan } from './call-plan.ts'
import type { PlannedLogicTree } from './field.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import type { ReadPlan } from './read-plan.ts'
import { returnedColumns } from './returning.ts'

/** Names of the arguments in a request: parameters of the query string, or keys of the body. */
export const argumentNames = ({ shape, queryParams }: ApiRequest, method: InvokeMethod): ReadonlySet<string> =>
  new Set(method === 'post' ? shape.columns : queryParams.routineArguments.map(([name]) => name))

export function planCall(
  routine: Routine,
  request: ApiRequest,
  method: InvokeMethod,
  names: ReadonlySet<string>,
  read: ReadPlan,
): CallPlan {
  return {
    routine: { schema: routine.schema, name: routine.name },
    parameters: callParameters(routine, names),
    arguments: callArguments(routine, request, method),
    returnsScalar: returnsScalar(routine),
    returnsSetOfScalar: returnsSetOfScalar(routine),
    filterFields: sortedTexts(read.where.flatMap(filteredNames)),
    returning: returnedColumns(read, []),
  }
}

function callParameters({ parameters }: Routine, names: ReadonlySet<string>): CallParameters {
  const [parameter] = parameters
  if (parameters.length === 1 && parameter?.name === '') return { kind: 'positional', parameter }
  return { kind: 'named', parameters: parameters.filter(({ name }) => names.has(name)) }
}

function callArguments(routine: Routine, request: ApiRequest, method: InvokeMethod): CallArguments {
  const { input, queryParams } = request
  const { payload } = input
  if (method !== 'post') return { kind: 'direct', values: directValues(routine, queryParams.routineArguments) }
  if (payload?.kind === 'form') return { kind: 'direct', values: directValues(routine, payload.pairs) }
  return { kind: 'body', body: bodyOf(payload) }
}

function bodyOf(payload: Exclude<Payload, { kind: 'form' }> | undefined): string | Buffer | null {
  if (payload === undefined) return null
  return payload.kind === 'raw' ? payload.bytes : payload.text
}

/** Values by argument name. The last of repeated arguments wins; a variadic parameter gets all of them. */
function directValues(
  { parameters, hasVariadic }: Routine,
  pairs: readonly (readonly [string, string])[],
): ReadonlyMap<string, ArgumentValue> {
  if (!hasVariadic) return new Map(pairs)
  const variadic = new Set(parameters.flatMap((parameter) => (parameter.variadic ? [parameter.name] : [])))
  const lists = new Map<string, string[]>()
  const values = new Map<string, ArgumentValue>()
  for (const [name, value] of pairs) {
    const list = lists.get(name)
    if (list) list.push(value)
    else if (!variadic.has(name)) values.set(name, value)
    else {
      lists.set(name, [value])
      values.set(name, lists.get(name) ?? [])
    }
  }
  return values
}

/**
 * Columns in the root's conditions, so that the function's result can be filtered by columns that are not selected.
 * PostgREST also returns the columns in conditions of embeds, which makes such calls fail there.
 */
function filteredNames(tree: PlannedLogicTree): readonly string[] {
  if (tree.kind === 'logic') return tree.operands.flatMap(filteredNames)
  return tree.filter.kind === 'field' ? [tree.filter.field.name] : []
}
