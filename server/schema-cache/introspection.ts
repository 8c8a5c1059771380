// The statements that read the catalogue. Each row they return holds one JSON value in its column `row`, so that
// decoding depends neither on the driver's type parsers nor on Postgres's array syntax.
import { readFileSync } from 'node:fs'

/** A statement with its parameters, every one of them text. */
export type IntrospectionQuery = { readonly text: string; readonly values: readonly string[] }

export type Row = Record<string, unknown>

/** Runs one statement, in the transaction that the caller keeps open. */
export type RunQuery = (text: string, values: unknown[]) => Promise<Row[]>

/** From this file in `server/` as from its compiled form in `dist/`, the statements are two levels up. */
const folder = new URL('../../sql/introspection/', import.meta.url)
const texts = new Map<string, string>()

/** A statement of `sql/introspection/`, read from disk the first time it is needed. */
export function introspectionQuery(name: string, ...values: string[]): IntrospectionQuery {
  let text = texts.get(name)
  if (text === undefined) {
    text = readFileSync(new URL(`${name}.sql`, folder), 'utf8')
    texts.set(name, text)
  }
  return { text, values }
}

/** The JSON value of a row; its shape is the one that the statement builds. */
export const decodeRow = <T>({ row }: Row): T => (typeof row === 'string' ? JSON.parse(row) : row) as T
