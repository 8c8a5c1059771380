// Names of database objects.

/** A schema and the name of an object in it. An empty schema means "no schema is written" (a CTE, an alias). */
export type QualifiedIdentifier = { readonly schema: string; readonly name: string }

/** The key under which maps hold an object. Postgres names cannot contain NUL, so it never collides. */
export const qualifiedKey = (schema: string, name: string): string => `${schema}\0${name}`
