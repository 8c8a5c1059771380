// The source of the TypeScript types of a database, in the form that supabase-js expects and Supabase's generator prints.
import type { SchemaFile } from '../../validation/schema-directory.ts'
import { compareNames, type Catalogue, type NamedType } from './catalogue.ts'
import { ColumnTypes, isView } from './column-types.ts'
import { FunctionTypes } from './function-type.ts'
import { helperTypes, internals, jsonType } from './helper-types.ts'
import { JsonColumnTypes } from './json-columns.ts'
import { relationType } from './relation-type.ts'
import { groupRelationships, type Relationships } from './relationship-type.ts'
import { render, type Layout } from './layout.ts'
import {
  groupOf,
  listLayout,
  literals,
  openObject,
  orNull,
  property,
  quoted,
  typeLayout,
  valueLayout,
  type Member,
  type Type,
} from './source.ts'
import { TypeNames } from './type-names.ts'

/**
 * Prints the types of a database. The same catalogue gives the same text, on every machine.
 *
 * @param files the JSON Schemas of tables, whose columns with JSON get the types of their schemas
 */
export function databaseTypes(catalogue: Catalogue, files: readonly SchemaFile[]): string {
  const names = new TypeNames(catalogue)
  const columns = new ColumnTypes(names, new JsonColumnTypes(files))
  const parts: Parts = {
    catalogue,
    names,
    columns,
    functions: new FunctionTypes(catalogue, names, columns),
    relationships: groupRelationships(catalogue.relationships),
  }
  const { schemas } = catalogue
  const database = openObject([...internals, ...schemas.map((schema) => schemaType(schema, parts))])
  const constants = valueLayout(
    schemas.map((schema) => [schema, valueLayout([['Enums', enumValues(schema, catalogue)]])] as const),
  )
  const declarations = [
    jsonType,
    render(['export type Database = ', typeLayout(database)]),
    ...helperTypes,
    render(['export const Constants = ', constants, ' as const']),
  ]
  return `${declarations.join('\n\n')}\n`
}

type Parts = {
  readonly catalogue: Catalogue
  readonly names: TypeNames
  readonly columns: ColumnTypes
  readonly functions: FunctionTypes
  readonly relationships: Relationships
}

function schemaType(schema: string, { catalogue, names, columns, functions, relationships }: Parts): Member {
  const relations = catalogue.relations
    .filter((relation) => relation.schema === schema)
    .sort((a, b) => compareNames(a.name, b.name))
  const print = (wanted: boolean): Type =>
    groupOf(
      relations
        .filter((relation) => isView(relation) === wanted)
        .map((relation) => relationType(relation, columns, functions.computedFields(relation), relationships)),
    )
  const enums = enumsOf(schema, catalogue).map((type) => property(type.name, literals(type.values)))
  const composites = ownTypes(schema, catalogue).flatMap(({ name, attributes }) =>
    attributes === null
      ? []
      : [property(name, openObject(attributes.map((it) => property(it.name, orNull(names.of(it.type))))))],
  )
  const groups = [
    property('Tables', print(false)),
    property('Views', print(true)),
    property('Functions', groupOf(functions.ofSchema(schema))),
    property('Enums', groupOf(enums)),
    property('CompositeTypes', groupOf(composites)),
  ]
  return property(schema, openObject(groups))
}

const ownTypes = (schema: string, { namedTypes }: Catalogue): NamedType[] =>
  namedTypes.filter((type) => type.schema === schema).sort((a, b) => compareNames(a.name, b.name))

type Enum = NamedType & { readonly values: readonly string[] }

const enumsOf = (schema: string, catalogue: Catalogue): Enum[] =>
  ownTypes(schema, catalogue).filter((type): type is Enum => type.values !== null)

/** The values of the enums of a schema, as an object literal. */
const enumValues = (schema: string, catalogue: Catalogue): Layout =>
  valueLayout(enumsOf(schema, catalogue).map((type) => [type.name, listLayout(type.values.map(quoted))] as const))
