// The columns of the grid: which can be edited, and where foreign keys lead.
import type { ColumnDetails, RelationDetails } from '../../../services/console/schema-protocol.ts'
import { isNull, textOf, type Row } from '../../rest/cells.ts'
import { equals } from '../../rest/filter.ts'
import { hasKey } from '../../rest/relation.ts'
import { href } from '../../router.ts'
import type { GridColumn } from './grid.tsx'
import type { GridRow } from './rows.ts'

/** The columns of the rows, or of the relation while it has no rows. */
export function gridColumns(relation: RelationDetails | undefined, first: Row | undefined): readonly GridColumn[] {
  const details = new Map<string, ColumnDetails>(relation?.columns.map((column) => [column.name, column]))
  const names = first ? [...first.keys()] : [...details.keys()]
  return names.map((name) => {
    const column = details.get(name)
    return {
      name,
      details: column,
      isKey: relation?.primaryKey.includes(name) === true,
      isEditable:
        relation !== undefined &&
        column !== undefined &&
        relation.isUpdatable &&
        column.generated === null &&
        column.identity !== 'always' &&
        first !== undefined &&
        hasKey(relation, first),
      linkOf: relation && linkOf(relation, name),
    }
  })
}

/** Where the foreign key of a column leads. A key of several columns has its link at the first one. */
function linkOf(relation: RelationDetails, name: string): GridColumn['linkOf'] {
  const link = relation.links.find(({ direction, columns }) => direction === 'to' && columns[0]?.[0] === name)
  if (!link) return undefined
  return ({ cells }: GridRow) =>
    link.columns.some(([own]) => isNull(cells.get(own)))
      ? undefined
      : href(
          ['tables', link.schema, link.name],
          new URLSearchParams(
            link.columns.map(([own, other]) => {
              const [parameter, value] = equals(other, textOf(cells.get(own)))
              return [parameter, value]
            }),
          ),
        )
}
