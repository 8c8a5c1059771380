// Qualified names and types in SQL text.
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import { identifier } from '../../text/sql-text.ts'

export { cutAtNul, identifier, literal } from '../../text/sql-text.ts'

/** `"schema"."name"`, or `"name"` when no schema is written. */
export const qualified = ({ schema, name }: QualifiedIdentifier): string =>
  schema === '' ? identifier(name) : `${identifier(schema)}.${identifier(name)}`

/** A column of a relation (or of an alias, when the schema is empty); `*` stands for all of them. */
export const column = (relation: QualifiedIdentifier, name: string): string =>
  `${qualified(relation)}.${name === '*' ? '*' : identifier(name)}`

/** A name without a schema: an alias or a common table expression. */
export const unqualified = (name: string): QualifiedIdentifier => ({ schema: '', name })

// Of ASCII only letters, digits, underscore, space and the dollar sign; everything beyond it.
const typeName = /^[0-9A-Za-z_ $\u{80}-\u{10ffff}]*$/u

/**
 * The type of a cast that a client wrote. It cannot be quoted (`"int"` is no type), so the URL grammar allows a narrow
 * set of characters only; this is the same rule once more, where it would hurt. The type of blanks alone is empty, which
 * is a syntax error to Postgres.
 */
export function castType(type: string): string {
  if (!typeName.test(type)) throw new Error('a cast holds a character that the URL grammar does not allow')
  return type
}
