// JSON Schema (draft 2020-12) as OpenAPI 3.1 carries it.

export type JsonSchema = Readonly<Record<string, unknown>>

/** Any object of the document. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A name for `#/components/…/{name}` made from names that may hold anything; different parts make different names. */
export const componentName = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.replace(/[^A-Za-z0-9_]/gu, (character) => `-${(character.codePointAt(0) ?? 0).toString(16)}-`))
    .join('.')

export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A path segment that stands for itself, not for a template. */
export const pathSegment = (name: string): string => encodeURIComponent(name)

/** A copy without some of its members. */
export const without = (schema: JsonSchema, ...names: readonly string[]): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)))
