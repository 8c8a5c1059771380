// Chooses among overloads by the names of the arguments.
// https://docs.postgrest.org/en/stable/references/api/functions.html
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { Routine } from '../../catalogue/routine.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { ApiError } from '../errors.ts'
import { errors } from '../errors.ts'
import type { MediaType } from '../media-type.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import { routineHint } from './suggestion.ts'

export type Invocation = {
  readonly routine: QualifiedIdentifier
  readonly argumentNames: ReadonlySet<string>
  /** POST: the arguments are the body. */
  readonly byBody: boolean
  readonly contentType: MediaType
}

/**
 * The function whose parameters match the arguments. If there is none, a POST calls the function with a single unnamed
 * parameter for the whole body.
 *
 * @throws ApiError PGRST202 when there is none, PGRST203 when there are several
 */
export function chooseRoutine(cache: SchemaCache, invocation: Invocation): Routine {
  const { routine } = invocation
  const overloads = cache.routines.get(qualifiedKey(routine.schema, routine.name)) ?? []
  const byName = overloads.filter((overload) => takesArguments(overload, invocation))
  const fitting = byName.length > 0 ? byName : overloads.filter((overload) => takesBody(overload, invocation))
  const [first] = fitting
  if (!first) throw noRoutine(cache, invocation)
  if (fitting.length > 1) throw errors.ambiguousRoutine(fitting.map(signature))
  return first
}

/** Whether each argument has a parameter, and each required parameter has an argument. */
function takesArguments({ parameters }: Routine, invocation: Invocation): boolean {
  const { argumentNames } = invocation
  if (parameters.length === 0) return argumentNames.size === 0 && bodyType(invocation) === undefined
  let taken = 0
  for (const { name, required } of parameters) {
    if (argumentNames.has(name)) taken++
    else if (required) return false
  }
  return taken === argumentNames.size
}

function takesBody({ parameters }: Routine, invocation: Invocation): boolean {
  const [parameter] = parameters
  if (!invocation.byBody || parameters.length !== 1 || parameter?.name !== '') return false
  if (invocation.contentType.kind === 'json') return parameter.type === 'json' || parameter.type === 'jsonb'
  return parameter.type === bodyType(invocation)
}

/** The type of the parameter for a body that does not consist of named arguments. */
function bodyType({ byBody, contentType }: Invocation): 'text' | 'xml' | 'bytea' | undefined {
  if (!byBody) return undefined
  if (contentType.kind === 'octet-stream') return 'bytea'
  return contentType.kind === 'text' || contentType.kind === 'xml' ? contentType.kind : undefined
}

const signature = ({ schema, name, parameters }: Routine): string =>
  `${schema}.${name}(${parameters.map((parameter) => `${parameter.name} => ${parameter.type}`).join(', ')})`

function noRoutine(cache: SchemaCache, invocation: Invocation): ApiError {
  const { routine, argumentNames, byBody, contentType } = invocation
  const name = `${routine.schema}.${routine.name}`
  const searched = (what: string): string =>
    `Searched for the function ${name}${what}, but no matches were found in the schema cache.`
  const type = bodyType(invocation)
  if (type) return errors.noRoutine(name, searched(` with a single unnamed ${type} parameter`), null)
  const names = sortedTexts(argumentNames)
  const list = names.join(', ')
  const call = names.length === 0 ? `${name} without parameters` : `${name}(${list})`
  const parameters =
    names.length === 0 ? ' without parameters' : ` with parameter${names.length > 1 ? 's' : ''} ${list}`
  const orBody = byBody && contentType.kind === 'json' ? ' or with a single unnamed json/jsonb parameter' : ''
  return errors.noRoutine(call, searched(`${parameters}${orBody}`), routineHint(cache, routine, names))
}
