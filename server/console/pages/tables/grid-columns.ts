// The columns of the grid: how wide they are, which can be edited, and where foreign keys lead.
import type { ColumnDetails, RelationDetails } from '../../../services/console/schema-protocol.ts'
import { isNull, textOf, type Row } from '../../rest/cells.ts'
import { equals } from '../../rest/filter.ts'
import { hasKey } from '../../rest/relation.ts'
import { href } from '../../router.ts'
import type { GridRow } from './rows.ts'

export type GridColumn = {
  readonly name: string
  readonly details: ColumnDetails | undefined
  readonly isKey: boolean
  /** Whether the viewer may write it. */
  readonly isEditable: boolean
  /** The link to the row that a value refers to. */
  readonly linkOf: ((row: GridRow) => string | undefined) | undefined
}

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

/** Pixels in which every value of a type fits, or the usual ones. */
const widthsOfTypes: Readonly<Record<string, number>> = {
  int8: 160,
  numeric: 160,
  float8: 170,
  date: 110,
  timestamp: 210,
  timestamptz: 245,
  uuid: 290,
}

/** Pixels of the arrow to another row. */
const linkWidth = 24

/** Pixels of a column that was not resized. */
export function widthOf({ name, details, linkOf }: GridColumn): number {
  const named = Math.min(name.length * 8 + 44, 260)
  if (!details) return Math.max(150, named)
  const { baseType, category } = details
  const width = widthsOfTypes[baseType] ?? { B: 100, S: 220, N: 110 }[category] ?? 150
  return Math.max(width + (linkOf ? linkWidth : 0), named)
}
