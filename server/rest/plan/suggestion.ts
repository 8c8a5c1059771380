// Hints in errors about unknown names: "Perhaps you meant …".
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import { parameterList } from '../../catalogue/name-index.ts'
import { relationshipKey } from '../../catalogue/relationship.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { sortedTexts } from '../../text/code-point-order.ts'
import { closest, defaultScore, type FuzzySet } from '../../text/fuzzy-set.ts'

/** Minimum similarity for names of tables and functions, which the client may not be allowed to know. */
const guessedScore = 0.75

/** The hint for an unknown table: one with a similar name. */
export function tableHint({ names }: SchemaCache, { schema, name }: QualifiedIdentifier): string | null {
  const match = closest(names.tablesOf(schema), name, guessedScore)
  return match ? `Perhaps you meant the table '${schema}.${match.text}'` : null
}

/**
 * The hint for a function that was not found: one with a similar name, or an overload with similar parameters.
 *
 * @param argumentNames names of the given arguments
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
 * The hint for a relationship that was not found: a name similar to the origin if it has no relationships, otherwise
 * one similar to the target. Without one, PostgREST has no hint; this is a list of what the origin is related to. Null if
 * the target exists, since then the embed's hint is wrong.
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
  if (match) return hasRelated && match.score === 1 ? null : `Perhaps you meant '${match.text}' instead of '${wrong}'.`
  return hasRelated ? relatedHint(origin.name, names.relatedTo(origin)) : null
}

/** How many related names a hint lists. */
const maxRelated = 5

function relatedHint(origin: string, { texts }: FuzzySet): string | null {
  if (texts.size === 0) return null
  const related = sortedTexts(texts.values())
  const listed = related.slice(0, maxRelated).map((name) => `'${name}'`)
  const others = related.length > maxRelated ? ` and ${related.length - maxRelated} more` : ''
  return `'${origin}' is related to ${listed.join(', ')}${others}.`
}
