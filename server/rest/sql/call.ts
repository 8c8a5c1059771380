// Function calls.
import { isUtf8 } from 'node:buffer'
import type { RoutineParameter } from '../../catalogue/routine.ts'
import type { ArgumentValue, CallArguments, CallPlan } from '../plan/call-plan.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { column, cutAtNul, identifier, qualified, unqualified } from './identifier.ts'
import { arrayText, parameter } from './parameter.ts'
import { payloadAlias, payloadSql } from './payload.ts'

const callAlias = 'pgrst_call'
/** The column of a function that returns scalar values. */
export const returnedValue = 'pgrst_scalar'

const argumentName = ({ name, variadic }: RoutineParameter): string =>
  `${variadic ? 'VARIADIC ' : ''}${identifier(name)} := `

function valueSql(value: ArgumentValue | undefined): Fragment {
  if (value === undefined) return 'NULL'
  // Without the first cast, Postgres would infer the type of the parameter from the cast to the parameter's type.
  return typeof value === 'string' ? parameter(value) : [{ value: arrayText(value) }, '::text[]']
}

const namedArgument = (parameter: RoutineParameter, values: ReadonlyMap<string, ArgumentValue>): Fragment => [
  argumentName(parameter),
  valueSql(values.get(parameter.name)),
  `::${parameter.castType}`,
]

function bodyOf(args: CallArguments): string | Buffer | null {
  return args.kind === 'body' ? args.body : JSON.stringify(Object.fromEntries(args.values))
}

/** Passes the whole body as the only argument. */
function positionalArgument({ type }: RoutineParameter, body: string | Buffer | null): Fragment {
  if (type === 'bytea') return [{ value: typeof body === 'string' ? Buffer.from(body) : body }, '::bytea']
  // Invalid UTF-8 is sent as it is, so that Postgres raises the error.
  const value = Buffer.isBuffer(body) && isUtf8(body) ? body.toString() : body
  return [{ value: typeof value === 'string' ? cutAtNul(value) : value }, `::${type}`]
}

/** The columns that the response and the filters need; all for an empty `select`, without those of the body. */
function returnedColumns({ returning, filterFields }: CallPlan): string {
  const rows = unqualified(callAlias)
  if (returning.length === 0 || (returning.length === 1 && returning[0] === '*')) return column(rows, '*')
  return [...new Set([...returning, ...filterFields])]
    .sort()
    .map((name) => column(rows, name))
    .join(', ')
}

const isBareValue = ({ returnsScalar, returnsSetOfScalar }: CallPlan): boolean => returnsScalar || returnsSetOfScalar

function fromCall(plan: CallPlan): Fragment {
  const { parameters, arguments: args } = plan
  const call = (given: Fragment): Fragment => {
    const called = [qualified(plan.routine), '(', given, ')']
    return isBareValue(plan) ? ['(SELECT ', called, ` ${returnedValue}) ${callAlias}`] : [called, ` ${callAlias}`]
  }
  if (parameters.kind === 'positional') return ['FROM ', call(positionalArgument(parameters.parameter, bodyOf(args)))]
  const named = parameters.parameters
  if (named.length === 0) return ['FROM ', call('')]
  if (args.kind === 'direct') {
    const given = named.map((parameter) => namedArgument(parameter, args.values))
    return ['FROM ', call(join(given, ', '))]
  }
  // The row of the body precedes the call in the FROM list, so that the arguments can refer to it.
  const fields = named.map(({ name, castType }) => ({ name, type: castType, transform: null, default: null }))
  const body = Buffer.isBuffer(args.body) ? args.body.toString() : args.body
  const given = named.map((parameter) => `${argumentName(parameter)}${payloadAlias}.${identifier(parameter.name)}`)
  return [payloadSql({ body, fields, applyDefaults: false, single: true }), ', LATERAL ', call(given.join(', '))]
}

/** Selects the rows that a function returns. Scalar values are in the column `pgrst_scalar`. */
export const callStatement = (plan: CallPlan): Fragment => [
  `SELECT ${isBareValue(plan) ? `${callAlias}.${returnedValue}` : returnedColumns(plan)} `,
  fromCall(plan),
]
