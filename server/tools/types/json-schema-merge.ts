// Merges JSON Schemas that must all match into one.

export type JsonSchema = Readonly<Record<string, unknown>>

/** A schema that is an object; undefined for `true` and `false`, and for what is no schema. */
export const asSchema = (value: unknown): JsonSchema | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : undefined

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The allowed values, undefined if the schema does not list them. */
export const valuesOf = (schema: JsonSchema): readonly unknown[] | undefined =>
  'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : undefined

/** The schema without a keyword. */
export const without = (schema: JsonSchema, keyword: string): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => name !== keyword))

/**
 * A schema for the values that match both schemas, as far as types can tell them apart. It may allow more values, never
 * fewer.
 *
 * @returns false when no value matches
 */
export function allOf(a: JsonSchema | false, b: JsonSchema | false): JsonSchema | false {
  if (a === false || b === false) return false
  const merged: Record<string, unknown> = { ...a, ...b }
  const types = commonTypes(a.type, b.type)
  if (types?.length === 0) return false
  if (types) merged.type = types
  const values = commonValues(valuesOf(a), valuesOf(b))
  if (values?.length === 0) return false
  if (values) {
    delete merged.const
    merged.enum = values
  }
  merged.required = [...new Set([...listOf(a.required), ...listOf(b.required)])]
  for (const keyword of ['properties', 'patternProperties']) {
    const properties = mergeProperties(asSchema(a[keyword]), asSchema(b[keyword]))
    if (properties) merged[keyword] = properties
  }
  for (const keyword of ['additionalProperties', 'unevaluatedProperties', 'items']) {
    if (keyword in a && keyword in b) merged[keyword] = both(a[keyword], b[keyword])
  }
  merged.allOf = [...listOf(a.allOf), ...listOf(b.allOf)]
  if (listOf(merged.allOf).length === 0) delete merged.allOf
  // For a type, `oneOf` is the same as `anyOf`. Of three such lists, one is left out, which allows more values.
  const alternatives = [a.oneOf, a.anyOf, b.oneOf, b.anyOf].filter(Array.isArray)
  for (const [index, keyword] of (['oneOf', 'anyOf'] as const).entries()) {
    if (alternatives[index]) merged[keyword] = alternatives[index]
    else delete merged[keyword]
  }
  return merged
}

/** Merges the schemas of properties. One that both name must match both. */
function mergeProperties(a: JsonSchema | undefined, b: JsonSchema | undefined): JsonSchema | undefined {
  if (!a || !b) return a ?? b
  const merged: Record<string, unknown> = { ...a }
  for (const [name, schema] of Object.entries(b)) merged[name] = Object.hasOwn(a, name) ? both(a[name], schema) : schema
  return merged
}

function both(a: unknown, b: unknown): unknown {
  if (a === false || b === false) return false
  if (!asSchema(a) || !asSchema(b)) return asSchema(a) ?? asSchema(b) ?? true
  return { allOf: [a, b] }
}

function commonValues(
  a: readonly unknown[] | undefined,
  b: readonly unknown[] | undefined,
): readonly unknown[] | undefined {
  if (!a || !b) return a ?? b
  const known = new Set(b.map((value) => JSON.stringify(value)))
  return a.filter((value) => known.has(JSON.stringify(value)))
}

/** The types that both allow; undefined if one of them does not say. */
function commonTypes(a: unknown, b: unknown): readonly unknown[] | undefined {
  if (a === undefined || b === undefined) return undefined
  const left: readonly unknown[] = Array.isArray(a) ? a : [a]
  const right: readonly unknown[] = Array.isArray(b) ? b : [b]
  const isIn = (type: unknown, types: readonly unknown[]): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  return [
    ...left.filter((type) => isIn(type, right)),
    ...right.filter((type) => !left.includes(type) && isIn(type, left)),
  ]
}
