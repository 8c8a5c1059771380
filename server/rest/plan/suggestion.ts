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
 * The hint for a relationship that was not found: a related table whose name is similar to the wrong one, otherwise a list of
 * related tables. They are related to the origin, or to the target if the origin has no relationships. PostgREST has no lists,
 * and for an origin without relationships it proposes any table with a similar name. Null if the target exists, since then the
 * embed's hint is wrong.
 */
export function relationshipHint(
  { relationships, tables, names }: SchemaCache,
  origin: QualifiedIdentifier,
  target: string,
): string | null {
  const { schema } = origin
  const ends = [
    { known: origin, wrong: target },
    { known: { schema, name: target }, wrong: origin.name },
  ]
  const end = ends.find(({ known }) => relationships.has(relationshipKey(known, schema)))
  if (!end) return null
  const related = names.relatedTo(end.known)
  const match = closest(related, end.wrong, defaultScore)
  if (match) return match.score === 1 ? null : `Perhaps you meant '${match.text}' instead of '${end.wrong}'.`
  // The result of a function is no table that could be related to another.
  const isListed = end.known === origin || tables.has(qualifiedKey(schema, origin.name))
  return isListed ? relatedHint(end.known.name, related) : null
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
