// TypeScript types of JSON Schemas (draft 2020-12), written in one expression without names.
import { allOf, asSchema, listOf, valuesOf, without, type JsonSchema } from './json-schema-merge.ts'
import { arrayOf, inlineObject, property, quoted, union, type Member, type TupleItem, type Type } from './source.ts'

/** JSON that cannot be described more narrowly. */
const anyJson = 'Json'

const typeNames = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const
type TypeName = (typeof typeNames)[number]

/** More members than these are not listed: the type would be unreadable, and slow to check. */
const maxAlternatives = 200

/**
 * The TypeScript types of all values that match the schema, as the members of a union. They may include more values: there
 * are no types for lengths, ranges, patterns and conditions, nor without a name for a schema that refers to itself.
 *
 * @param document the schema that references such as `#/$defs/name` refer to
 */
export function jsonSchemaTypes(schema: unknown, document: JsonSchema): readonly Type[] {
  return distinct(typesOf(schema, { document, open: new Set() }))
}

type Scope = {
  readonly document: JsonSchema
  /** References being followed. One that leads to itself becomes `Json`. */
  readonly open: ReadonlySet<string>
}

function typesOf(given: unknown, outer: Scope): readonly Type[] {
  const { schema, scope } = resolve(given, outer)
  if (schema === undefined) return [anyJson]
  if (schema === false) return ['never']
  const combination = (['allOf', 'oneOf', 'anyOf'] as const).find((keyword) => Array.isArray(schema[keyword]))
  if (combination !== undefined) return combined(schema, combination, scope)
  const types = namedTypes(schema)
  const values = valuesOf(schema)?.filter((value) => types.includes(typeOfValue(value)))
  if (values !== undefined && values.length <= maxAlternatives) return values.map(literal)
  // Without a type, keywords such as `properties` restrict objects only, and every other value matches.
  if (schema.type === undefined) return [anyJson]
  return types.map((type) => plainType(type, schema, scope))
}

const typeOf = (schema: unknown, scope: Scope): Type => union(distinct(typesOf(schema, scope)))

/** The types of a schema with alternatives, or with parts that must all match. */
function combined(schema: JsonSchema, keyword: 'allOf' | 'oneOf' | 'anyOf', scope: Scope): readonly Type[] {
  const base = without(schema, keyword)
  const parts = listOf(schema[keyword]).map((part) => resolve(part, scope))
  if (keyword !== 'allOf') {
    return parts.flatMap((part) =>
      part.schema === undefined ? typesOf(base, scope) : typesOf(allOf(base, part.schema), part.scope),
    )
  }
  // A part that is unknown only allows more values.
  const known = parts.flatMap((part) => (part.schema === undefined ? [] : [part.schema]))
  const open = new Set(parts.flatMap((part) => [...part.scope.open]))
  return typesOf(known.reduce<JsonSchema | false>(allOf, base), { ...scope, open })
}

/** A schema with its reference replaced by what it refers to; undefined if that is unknown, or a reference to itself. */
function resolve(
  given: unknown,
  scope: Scope,
): { readonly schema: JsonSchema | false | undefined; readonly scope: Scope } {
  if (given === false) return { schema: false, scope }
  const schema = given === true ? {} : asSchema(given)
  if (typeof schema?.$ref !== 'string') return { schema, scope }
  const reference = schema.$ref
  if (scope.open.has(reference)) return { schema: undefined, scope }
  const inner = { ...scope, open: new Set([...scope.open, reference]) }
  const target = resolve(find(reference, scope.document), inner)
  if (target.schema === undefined) return target
  return { schema: allOf(without(schema, '$ref'), target.schema), scope: target.scope }
}

/** The target of a JSON pointer into the document: `#`, `#/$defs/name`. */
function find(reference: string, document: JsonSchema): unknown {
  if (reference === '#') return document
  if (!reference.startsWith('#/')) return undefined
  let target: unknown = document
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined
    target = (target as Record<string, unknown>)[name]
  }
  return target
}

function namedTypes({ type }: JsonSchema): readonly TypeName[] {
  if (type === undefined) return typeNames
  const named: readonly unknown[] = Array.isArray(type) ? type : [type]
  return typeNames.filter((name) => named.includes(name) || (name === 'number' && named.includes('integer')))
}

function typeOfValue(value: unknown): TypeName {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : (typeof value as TypeName)
}

function literal(value: unknown): Type {
  if (Array.isArray(value)) return { kind: 'tuple', items: value.map((item) => ({ type: literal(item) })) }
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return objectOf(Object.entries(value).map(([name, inner]) => property(name, literal(inner))))
}

const objectOf = (members: readonly Member[]): Type =>
  inlineObject(members.length === 0 ? [{ key: '[key: string]', type: 'never' }] : members)

function plainType(type: TypeName, schema: JsonSchema, scope: Scope): Type {
  switch (type) {
    case 'null':
    case 'boolean':
    case 'number':
    case 'string':
      return type
    case 'array':
      return arrayType(schema, scope)
    case 'object':
      return objectType(schema, scope)
    default:
      return type satisfies never
  }
}

/** An array, or a tuple whose items from `minItems` on are optional. */
function arrayType({ prefixItems, items = true, minItems }: JsonSchema, scope: Scope): Type {
  const rest = items === false ? undefined : arrayOf(typeOf(items, scope))
  const first = listOf(prefixItems)
  if (first.length === 0 && rest) return rest
  const least = typeof minItems === 'number' ? minItems : 0
  const members = first.map((item, index): TupleItem => ({ type: typeOf(item, scope), isOptional: index >= least }))
  return { kind: 'tuple', items: [...members, ...(rest ? [{ type: rest, isRest: true }] : [])] }
}

function objectType(schema: JsonSchema, scope: Scope): Type {
  const properties = asSchema(schema.properties) ?? {}
  const required = new Set(listOf(schema.required).filter((name) => typeof name === 'string'))
  const additional = additionalOf(schema)
  const unnamed = [...required].filter((name) => !Object.hasOwn(properties, name))
  const members = [
    ...Object.entries(properties).map(([name, inner]) => ({ name, types: typesOf(inner, scope) })),
    ...unnamed.map((name) => ({ name, types: typesOf(additional, scope) })),
  ]
  const others = Object.values(asSchema(schema.patternProperties) ?? {}).flatMap((inner) => typesOf(inner, scope))
  if (additional !== false) others.push(...typesOf(additional, scope))
  const named = members.map(({ name, types }) => property(name, union(distinct(types)), !required.has(name)))
  if (others.length === 0) return objectOf(named)
  // The type of other properties has to include those of the named ones.
  const all = distinct([...others, ...members.flatMap(({ types }) => types)])
  return objectOf([...named, { key: '[key: string]', type: union([...all, 'undefined']) }])
}

/** Keywords whose schemas may allow properties that `unevaluatedProperties` then does not forbid. */
const conditions = ['if', 'dependentSchemas', '$dynamicRef'] as const

function additionalOf(schema: JsonSchema): unknown {
  if ('additionalProperties' in schema) return schema.additionalProperties
  const { unevaluatedProperties: unevaluated = true } = schema
  return conditions.some((keyword) => keyword in schema) ? true : unevaluated
}

/** Each member once; `Json` includes all others. */
function distinct(types: readonly Type[]): readonly Type[] {
  if (types.includes(anyJson)) return [anyJson]
  const known = new Map(types.map((type) => [JSON.stringify(type), type] as const))
  const all = [...known.values()].filter((type) => type !== 'never')
  return all.length === 0 ? ['never'] : all
}
