// The types of tables and views: rows, inserts, updates and relationships.
import type { TypedRelation } from './catalogue.ts'
import { isView, type ColumnTypes } from './column-types.ts'
import type { ComputedField } from './function-type.ts'
import { relationshipTypes, type Relationships } from './relationship-type.ts'
import { openObject, orNull, property, type Member } from './source.ts'

/**
 * The type of a table or view.
 *
 * @param computed fields that functions add to its rows; a column of the same name wins, as in requests
 */
export function relationType(
  relation: TypedRelation,
  columns: ColumnTypes,
  computed: readonly ComputedField[],
  relationships: Relationships,
): Member {
  const names = new Set(relation.columns.map(({ name }) => name))
  const fields = computed.filter(({ name }) => !names.has(name)).map(({ name, type }) => property(name, orNull(type)))
  const row = property('Row', openObject([...columns.row(relation), ...fields]))
  const related = property('Relationships', relationshipTypes(relation, relationships))
  return property(relation.name, openObject([row, ...writes(relation, columns), related]))
}

function writes(relation: TypedRelation, columns: ColumnTypes): Member[] {
  if (!isView(relation)) {
    return [
      property('Insert', openObject(columns.insert(relation))),
      property('Update', openObject(columns.update(relation))),
    ]
  }
  const written = openObject(columns.write(relation))
  return relation.isUpdatable ? [property('Insert', written), property('Update', written)] : []
}
