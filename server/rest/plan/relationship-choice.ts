// Chooses the relationship of an embed.
// https://docs.postgrest.org/en/stable/references/api/resource_embedding.html#foreign-key-joins-on-multiple-foreign-key-relationships
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { relationshipKey } from '../../catalogue/relationship.ts'
import type { ForeignKeyRelationship, Relationship } from '../../catalogue/relationship.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import { errors } from '../errors.ts'
import { relationshipHint } from './suggestion.ts'

/**
 * The relationship from a relation to the target of an embed: a relation, a foreign key constraint, a foreign key
 * column or a function. A hint narrows the choice: a constraint, a column of either side, or a junction.
 *
 * @throws ApiError PGRST200 when there is none, PGRST201 when there are several
 */
export function chooseRelationship(
  cache: SchemaCache,
  origin: QualifiedIdentifier,
  target: string,
  hint: string | null,
): Relationship {
  const candidates = cache.relationships.get(relationshipKey(origin, origin.schema)) ?? []
  const found = candidates.filter((candidate) => leadsTo(candidate, target, hint))
  const [first] = found
  if (!first) throw noRelationship(cache, origin, target, hint)
  if (found.length > 1) throw ambiguousRelationship(origin.name, target, found)
  return first
}

function leadsTo(relationship: Relationship, target: string, hint: string | null): boolean {
  if (relationship.kind === 'computed') return relationship.function.name === target
  const { foreignTable, foreignTableIsView, isSelf, cardinality } = relationship
  const isTarget = foreignTable.name === target
  if (isSelf) {
    // A foreign key from a table to itself can be followed both ways: one-to-many by the name of the table, many-to-one
    // by the name of the column.
    if (hint !== null) return isTarget && cardinality.kind === 'one-to-many' && onForeignColumn(relationship, hint)
    return (
      (isTarget && cardinality.kind === 'one-to-many') ||
      (cardinality.kind === 'many-to-one' && onColumn(relationship, target))
    )
  }
  if (hint === null) {
    return isTarget || (!foreignTableIsView && (byConstraint(relationship, target) || onColumn(relationship, target)))
  }
  return (
    isTarget &&
    (byConstraint(relationship, hint) ||
      onColumn(relationship, hint) ||
      onForeignColumn(relationship, hint) ||
      throughJunction(relationship, hint))
  )
}

const byConstraint = ({ cardinality }: ForeignKeyRelationship, name: string): boolean =>
  cardinality.kind !== 'many-to-many' && cardinality.constraint === name

const throughJunction = ({ cardinality }: ForeignKeyRelationship, name: string): boolean =>
  cardinality.kind === 'many-to-many' && cardinality.junction.table.name === name

/** Whether the relationship has a single column with that name. */
const onColumn = ({ cardinality }: ForeignKeyRelationship, name: string): boolean =>
  cardinality.kind !== 'many-to-many' && cardinality.columns.length === 1 && cardinality.columns[0]?.[0] === name

/** Whether the relationship has a single column, and on the other side it has that name. */
const onForeignColumn = ({ cardinality }: ForeignKeyRelationship, name: string): boolean =>
  cardinality.kind !== 'many-to-many' && cardinality.columns.length === 1 && cardinality.columns[0]?.[1] === name

function noRelationship(cache: SchemaCache, origin: QualifiedIdentifier, target: string, hint: string | null) {
  const by = hint === null ? '' : `using the hint '${hint}' `
  const details = `Searched for a foreign key relationship between '${origin.name}' and '${target}' ${by}in the schema '${origin.schema}', but no matches were found.`
  return errors.noRelationship(origin.name, target, details, relationshipHint(cache, origin, target))
}

function ambiguousRelationship(origin: string, target: string, candidates: readonly Relationship[]) {
  const names = candidates.map(hintFor).join(', ')
  const hint = `Try changing '${target}' to one of the following: ${names}. Find the desired relationship in the 'details' key.`
  return errors.ambiguousRelationship(origin, target, candidates.map(describe), hint)
}

/** The target with the hint that chooses a candidate. */
function hintFor(relationship: Relationship): string {
  if (relationship.kind === 'computed') return ''
  const { foreignTable, cardinality } = relationship
  const by = cardinality.kind === 'many-to-many' ? cardinality.junction.table.name : cardinality.constraint
  return `'${foreignTable.name}!${by}'`
}

const ends = (pairs: readonly (readonly [string, string])[], end: 0 | 1): string =>
  `(${pairs.map((pair) => pair[end]).join(', ')})`

/** A candidate as listed in `details`, with keys in alphabetical order. */
function describe(relationship: Relationship): Readonly<Record<string, string>> {
  if (relationship.kind === 'computed') return {}
  const { table, foreignTable, cardinality } = relationship
  const embedding = `${table.name} with ${foreignTable.name}`
  if (cardinality.kind === 'many-to-many') {
    const { junction } = cardinality
    const source = `${junction.sourceConstraint}${ends(junction.sourceColumns, 1)}`
    const target = `${junction.targetConstraint}${ends(junction.targetColumns, 1)}`
    const through = `${junction.table.name} using ${source} and ${target}`
    return { cardinality: cardinality.kind, embedding, relationship: through }
  }
  const { constraint, columns } = cardinality
  const by = `${constraint} using ${table.name}${ends(columns, 0)} and ${foreignTable.name}${ends(columns, 1)}`
  return { cardinality: cardinality.kind, embedding, relationship: by }
}
