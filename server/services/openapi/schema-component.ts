// The JSON Schemas of request bodies as components of the document.
import { anyObject, componentName, schemaRef, without, type JsonSchema } from '../../http/json-schema.ts'

export type SchemaComponents = {
  /** By component name. */
  readonly schemas: Readonly<Record<string, JsonSchema>>
  /** Component names of the schemas for a table's rows, by `schema.table`. */
  readonly tables: ReadonlyMap<string, string>
  /** A copy of a schema whose references by `$id` point to components. */
  readonly resolve: (schema: JsonSchema) => JsonSchema
}

/** `urn:rowhouse:SignInDto`, `https://example.com/SignInDto.json` -> `SignInDto` */
function nameOf(id: string): string {
  const last =
    id
      .replace(/[#?].*$/s, '')
      .split(/[:/]/)
      .at(-1) ?? ''
  return componentName(last.replace(/(?:\.schema)?\.json$/, ''))
}

/**
 * Names the schemas, and removes `$id` and `$schema`, because references in a schema would be relative to its `$id`.
 *
 * @throws Error when a schema has no `$id`, when two have the same name, and in `resolve` for a reference that cannot
 *   be resolved
 */
export function schemaComponents(schemas: readonly JsonSchema[]): SchemaComponents {
  const names = new Map<string, string>()
  for (const { $id } of schemas) {
    if (typeof $id !== 'string') throw new Error('a JSON Schema has no $id')
    const name = nameOf($id)
    if (name === '' || [...names.values()].includes(name))
      throw new Error(`JSON Schema ${$id}: its $id must end with a name that no other schema has`)
    names.set($id, name)
  }

  const reference = (ref: string, self: string | undefined): string => {
    const hash = ref.indexOf('#')
    const [id, pointer] = hash < 0 ? [ref, ''] : [ref.slice(0, hash), ref.slice(hash + 1)]
    const name = id === '' ? self : names.get(id)
    // A reference to no schema of the folder may refer to another component.
    if (name === undefined && id === '' && pointer.startsWith('/components/')) return ref
    if (name === undefined || (pointer !== '' && !pointer.startsWith('/'))) {
      throw new Error(`no JSON Schema is at ${ref}`)
    }
    return `#/components/schemas/${name}${pointer}`
  }

  const resolved = (value: unknown, self: string | undefined): unknown => {
    if (Array.isArray(value)) return value.map((item) => resolved(item, self))
    if (typeof value !== 'object' || value === null) return value
    return describedObject(
      Object.entries(value).map(([key, member]) => [
        key,
        key === '$ref' && typeof member === 'string' ? reference(member, self) : resolved(member, self),
      ]),
    )
  }

  const components = new Map<string, JsonSchema>()
  const tables = new Map<string, string>()
  for (const schema of schemas) {
    const name = names.get(schema.$id as string) ?? ''
    const component = without(resolved(schema, name) as JsonSchema, '$id', '$schema')
    components.set(name, component)
    const table = schema['x-table']
    if (typeof table !== 'string') continue
    tables.set(table, name)
    components.set(updateName(name), anySubset(component, name))
  }
  return {
    schemas: Object.fromEntries(components),
    tables,
    resolve: (schema) => resolved(schema, undefined) as JsonSchema,
  }
}

/** Generators of types take an object without properties for an empty one, unless it says that it may have any. */
function describedObject(entries: readonly (readonly [name: string, value: unknown])[]): JsonSchema {
  const schema: JsonSchema = Object.fromEntries(entries)
  const isAny = schema.type === 'object' && entries.every(([name]) => name === 'type' || name === 'description')
  return isAny ? { ...schema, ...anyObject } : schema
}

const updateName = (name: string): string => `${name}.update`

/** The schema of an update: any subset of a row, in which an absent property has no default. */
export function anySubset(schema: JsonSchema, name: string): JsonSchema {
  const properties = schema.properties as Readonly<Record<string, unknown>> | undefined
  return {
    ...without(schema, 'required', 'minProperties', 'dependentRequired'),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([property, value]) => [
          property,
          typeof value === 'object' && value !== null ? without(value as JsonSchema, 'default') : value,
        ]),
      ),
    }),
    title: `Changes to ${name}`,
  }
}

export type BodySchemas = { readonly insert: JsonSchema; readonly update: JsonSchema }

/** References to the schemas of a table's bodies; undefined when only the database checks them. */
export function bodySchemas(
  { tables }: SchemaComponents,
  table: { readonly schema: string; readonly name: string },
): BodySchemas | undefined {
  const name = tables.get(`${table.schema}.${table.name}`)
  return name === undefined ? undefined : { insert: schemaRef(name), update: schemaRef(updateName(name)) }
}
