// Hints in errors about names that the schema cache does not have: "Perhaps you meant …".
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import { qualifiedKey } from '../../schema-cache/identifier.ts'
import { parameterList } from '../../schema-cache/name-index.ts'
import { relationshipKey } from '../../schema-cache/relationship.ts'
import type { SchemaCache } from '../../schema-cache/schema-cache.ts'
import { closest, defaultScore } from '../../text/fuzzy-set.ts'

/** Tables and functions that the client may have no right to know of are named only when they were nearly guessed. */
const guessedScore = 0.75

/** The table of that schema with a name much like the one given. */
export function tableHint({ names }: SchemaCache, { schema, name }: QualifiedIdentifier): string | null {
  const match = closest(names.tablesOf(schema), name, guessedScore)
  return match ? `Perhaps you meant the table '${schema}.${match.text}'` : null
}

/**
 * A function with a similar name, or if there are functions of that name, the overload with similar parameters.
 *
 * @param argumentNames names of the arguments given
 */
export function routineHint(
  { routines, names }: SchemaCache,
  { schema, name }: QualifiedIdentifier,
  argumentNames: readonly string[],
): string | null {
  const overloads = routines.get(qualifiedKey(schema, name)) ?? []
  if (overloads.length === 0) {
    const match = closest(names.routinesOf(schema), name, guessedScore)
    return match ? `Perhaps you meant to call the function ${schema}.${match.text}` : null
  }
  const match = closest(names.parametersOf({ schema, name }), parameterList(argumentNames), defaultScore)
  return match ? `Perhaps you meant to call the function ${schema}.${name}${match.text}` : null
}

/**
 * A similar name for the origin if nothing is related to it, otherwise for the target. None if the target is right,
 * since then it is the request's hint that is not.
 */
export function relationshipHint(
  { relationships, names }: SchemaCache,
  origin: QualifiedIdentifier,
  target: string,
): string | null {
  const hasRelated = relationships.has(relationshipKey(origin, origin.schema))
  const [wrong, match] = hasRelated
    ? [target, closest(names.relatedTo(origin), target, defaultScore)]
    : [origin.name, closest(names.parentsIn(origin.schema), origin.name, defaultScore)]
  if (!match || (hasRelated && match.score === 1)) return null
  return `Perhaps you meant '${match.text}' instead of '${wrong}'.`
}
