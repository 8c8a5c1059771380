// Names of database objects.

/** A schema and the name of an object in it. An empty schema means an unqualified name (a CTE, an alias). */
export type QualifiedIdentifier = { readonly schema: string; readonly name: string }

/** The map key of an object. Postgres names cannot contain NUL, so keys never collide. */
export const qualifiedKey = (schema: string, name: string): string => `${schema}\0${name}`
