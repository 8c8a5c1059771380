// Qualified names and type names in SQL.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { identifier } from '../../text/sql-text.ts'

export { cutAtNul, identifier, literal } from '../../text/sql-text.ts'

/** `"schema"."name"`, or `"name"` if the schema is empty. */
export const qualified = ({ schema, name }: QualifiedIdentifier): string =>
  schema === '' ? identifier(name) : `${identifier(schema)}.${identifier(name)}`

/** A column of a relation, or of an alias if the schema is empty; `*` for all columns. */
export const column = (relation: QualifiedIdentifier, name: string): string =>
  `${qualified(relation)}.${name === '*' ? '*' : identifier(name)}`

/** A name without a schema: an alias or a CTE. */
export const unqualified = (name: string): QualifiedIdentifier => ({ schema: '', name })

// Letters, digits, underscore, space and dollar sign of ASCII, and all characters beyond ASCII.
const typeName = /^[0-9A-Za-z_ $\u{80}-\u{10ffff}]*$/u

/**
 * The type in a client's cast. It cannot be quoted, because `"int"` is not a type, so the URL grammar allows few
 * characters. This checks them again, to prevent SQL injection. A type of blanks is a syntax error in Postgres.
 */
export function castType(type: string): string {
  if (!typeName.test(type)) throw new Error('a cast contains a character that the URL grammar does not allow')
  return type
}
