// Hints in errors about names that the schema cache does not have: "Perhaps you meant …".
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import type { Relationship, Relationships } from '../../schema-cache/relationship.ts'
import { relationshipKey } from '../../schema-cache/relationship.ts'
import type { Routine, Routines } from '../../schema-cache/routine.ts'
import type { SchemaCache } from '../../schema-cache/schema-cache.ts'
import type { Tables } from '../../schema-cache/table.ts'
import type { FuzzySet } from './fuzzy-set.ts'
import { closest, defaultScore, fuzzySet } from './fuzzy-set.ts'
import { compareText } from '../../text/code-point-order.ts'

/** Tables and functions that the client may have no right to know of are named only when they were nearly guessed. */
const guessedScore = 0.75
/** Schemas with this many tables or more get no hints about tables. */
const tableLimit = 500

/** An index per part of the schema cache, made when it is first needed and gone with its snapshot. */
function remember<Source extends object>(make: (source: Source, schema: string) => FuzzySet) {
  const bySource = new WeakMap<Source, Map<string, FuzzySet>>()
  return (source: Source, schema = ''): FuzzySet => {
    let bySchema = bySource.get(source)
    if (!bySchema) bySource.set(source, (bySchema = new Map<string, FuzzySet>()))
    let set = bySchema.get(schema)
    if (!set) bySchema.set(schema, (set = make(source, schema)))
    return set
  }
}

const tableNames = remember((tables: Tables, schema) => {
  const names = [...tables.values()].filter((table) => table.schema === schema).map(({ name }) => name)
  return fuzzySet(names.length < tableLimit ? names : [])
})

const routineNames = remember((routines: Routines, schema) =>
  fuzzySet([...routines.values()].flatMap(([first]) => (first?.schema === schema ? [first.name] : []))),
)

/** Relations from which relationships lead into the schema. */
const parentNames = remember((relationships: Relationships, schema) =>
  fuzzySet([...relationships.values()].flatMap(([first]) => (leadsInto(first, schema) ? [first.table.name] : []))),
)

const leadsInto = (relationship: Relationship | undefined, schema: string): relationship is Relationship =>
  relationship?.foreignTable.schema === schema

const childNames = remember((relationships: readonly Relationship[]) =>
  fuzzySet(relationships.map(({ foreignTable }) => foreignTable.name)),
)

const parameterLists = remember((overloads: readonly Routine[]) =>
  fuzzySet(overloads.map(({ parameters }) => parameterList(parameters.map(({ name }) => name)))),
)

const parameterList = (names: readonly string[]): string => `(${[...names].sort(compareText).join(', ')})`

/** The table of that schema with a name much like the one given. */
export function tableHint({ tables }: SchemaCache, { schema, name }: QualifiedIdentifier): string | null {
  const match = closest(tableNames(tables, schema), name, guessedScore)
  return match ? `Perhaps you meant the table '${schema}.${match.text}'` : null
}

/**
 * A function with a similar name, or if there are functions of that name, the overload with similar parameters.
 *
 * @param argumentNames names of the arguments given
 */
export function routineHint(
  { routines }: SchemaCache,
  { schema, name }: QualifiedIdentifier,
  argumentNames: readonly string[],
): string | null {
  const overloads = routines.get(qualifiedKey(schema, name)) ?? []
  if (overloads.length === 0) {
    const match = closest(routineNames(routines, schema), name, guessedScore)
    return match ? `Perhaps you meant to call the function ${schema}.${match.text}` : null
  }
  const match = closest(parameterLists(overloads), parameterList(argumentNames), defaultScore)
  return match ? `Perhaps you meant to call the function ${schema}.${name}${match.text}` : null
}

/**
 * A similar name for the origin if nothing is related to it, otherwise for the target. None if the target is right,
 * since then it is the request's hint that is not.
 */
export function relationshipHint(
  { relationships }: SchemaCache,
  origin: QualifiedIdentifier,
  target: string,
): string | null {
  const fromOrigin = relationships.get(relationshipKey(origin, origin.schema))
  const [wrong, match] = fromOrigin
    ? [target, closest(childNames(fromOrigin), target, defaultScore)]
    : [origin.name, closest(parentNames(relationships, origin.schema), origin.name, defaultScore)]
  if (!match || (fromOrigin && match.score === 1)) return null
  return `Perhaps you meant '${match.text}' instead of '${wrong}'.`
}
