// JSON Schema (draft 2020-12) in OpenAPI 3.1 documents.

export type JsonSchema = Readonly<Record<string, unknown>>

/** Any object of the document. */
export type JsonObject = Readonly<Record<string, unknown>>

/** An object with any members. Generators of types take `{ type: 'object' }` alone for one without members. */
export const anyObject: JsonSchema = { type: 'object', additionalProperties: true }

/** A valid name for `#/components/…/{name}` from arbitrary names. Different parts result in different names. */
export const componentName = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.replace(/[^A-Za-z0-9_]/gu, (character) => `-${(character.codePointAt(0) ?? 0).toString(16)}-`))
    .join('.')

export const schemaRef = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** Encodes a path segment literally, so that braces are not a template. */
export const pathSegment = (name: string): string => encodeURIComponent(name)

/** A copy of a schema without some members. */
export const without = (schema: JsonSchema, ...names: readonly string[]): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)))
