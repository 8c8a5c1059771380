// Schemas of rows and of function arguments.
import type { Routine } from '../../catalogue/routine.ts'
import type { ColumnModel, RelationModel } from './model.ts'
import { NumberText, sorted, type Member, type OrderedJson, type OrderedObject } from './ordered-json.ts'
import { arrayItems, defaultValue, swaggerFormat, swaggerType } from './swagger-type.ts'

/** The list; undefined if it is empty. */
const filled = (list: readonly string[]): readonly string[] | undefined => (list.length > 0 ? list : undefined)

/** The members as an object; undefined if there are none. */
const filledObject = (members: readonly Member[]): OrderedObject | undefined =>
  members.length > 0 ? new Map(members) : undefined

/** The schema of a relation's rows. Tools parse the notes on keys (`<pk/>`, `<fk …/>`), so they are part of the API. */
export const tableDefinition = ({ table, columns }: RelationModel): OrderedJson => ({
  description: table.description ?? undefined,
  required: filled(columns.filter(({ nullable }) => !nullable).map(({ name }) => name)),
  properties: filledObject(columns.map((column) => [column.name, columnProperty(column)])),
  type: 'object',
})

function columnProperty(column: ColumnModel): OrderedJson {
  const { type, maxLength } = column
  return {
    default: column.default === null ? undefined : defaultValue(type, column.default),
    description: columnDescription(column),
    enum: filled(column.enumValues),
    format: swaggerFormat(type),
    items: arrayItems(type),
    maxLength: maxLength === null ? undefined : new NumberText(String(maxLength)),
    type: swaggerType(type),
  }
}

function columnDescription({ description: comment, isPrimaryKey, foreignKey }: ColumnModel): string | undefined {
  const notes: string[] = []
  if (isPrimaryKey) notes.push('This is a Primary Key.<pk/>')
  if (foreignKey) {
    const { table, column } = foreignKey
    notes.push(`This is a Foreign Key to \`${table}.${column}\`.<fk table='${table}' column='${column}'/>`)
  }
  if (notes.length === 0) return comment ?? undefined
  return `${comment === null ? '' : `${comment}\n\n`}${['Note:', ...notes].join('\n')}`
}

/** The schema of a function's arguments as a JSON object. */
export const argumentsSchema = ({ description, parameters }: Routine): OrderedJson => ({
  description: description ?? undefined,
  properties: filledObject(
    sorted(
      parameters.map(({ name, type }) => [
        name,
        { format: swaggerFormat(type), items: arrayItems(type), type: swaggerType(type) },
      ]),
    ),
  ),
  required: filled(parameters.filter(({ required }) => required).map(({ name }) => name)),
  type: 'object',
})
