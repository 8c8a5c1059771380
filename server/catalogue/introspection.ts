// The statements that read the system catalog. Each row has one JSON value in its column `row`, so that decoding depends
// neither on the driver's type parsers nor on Postgres's array syntax.
import { readFileSync } from 'node:fs'

/** A statement with its parameters, all of type text. */
export type IntrospectionQuery = { readonly text: string; readonly values: readonly string[] }

export type CatalogRow = Record<string, unknown>

/** Runs one statement in the caller's open transaction. */
export type RunQuery = (text: string, values: unknown[]) => Promise<readonly CatalogRow[]>

/** Runs one statement, as a client of PostgreSQL. */
export type RunClientQuery = (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly CatalogRow[] }>

export const rowsOf =
  (query: RunClientQuery): RunQuery =>
  async (text, values) =>
    (await query(text, values)).rows

/** The same relative path is valid from `server/` and from the compiled file in `dist/`. */
const folder = new URL('../../sql/introspection/', import.meta.url)
const texts = new Map<string, string>()

/** A statement of `sql/introspection/`, read from disk on first use. */
export function introspectionQuery(name: string, ...values: string[]): IntrospectionQuery {
  let text = texts.get(name)
  if (text === undefined) {
    text = readFileSync(new URL(`${name}.sql`, folder), 'utf8')
    texts.set(name, text)
  }
  return { text, values }
}

/** The JSON value of a row. The statement defines its shape. */
export const decodeRow = <T>({ row }: CatalogRow): T => (typeof row === 'string' ? JSON.parse(row) : row) as T
