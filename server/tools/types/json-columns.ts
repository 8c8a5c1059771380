// The types of columns with JSON, from the JSON Schemas that bodies of their tables must match.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { qualifiedKey } from '../../catalogue/identifier.ts'
import type { SchemaFile } from '../../validation/schema-directory.ts'
import { asSchema } from './json-schema-merge.ts'
import { jsonSchemaTypes } from './json-schema-type.ts'
import { union, type Type } from './source.ts'

/** Finds the types of columns of the types json and jsonb. */
export class JsonColumnTypes {
  readonly #tables: ReadonlyMap<string, SchemaFile['schema']>

  /** @param files those of `schemas/` that apply */
  constructor(files: readonly SchemaFile[]) {
    this.#tables = new Map(
      files.flatMap(({ table, schema }) => (table ? [[qualifiedKey(table.schema, table.name), schema] as const] : [])),
    )
  }

  /**
   * The type of a column without null, which is the null of SQL: whether a column has it is for the database to say.
   * `Json` for a column without a schema.
   */
  typeOf({ schema, name }: QualifiedIdentifier, column: string): Type {
    const document = this.#tables.get(qualifiedKey(schema, name))
    const properties = asSchema(document?.properties)
    if (!document || !properties || !Object.hasOwn(properties, column)) return 'Json'
    const types = jsonSchemaTypes(properties[column], document).filter((type) => type !== 'null')
    return types.length === 0 ? 'null' : union(types)
  }
}
