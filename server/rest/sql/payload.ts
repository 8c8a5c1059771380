// Converts a JSON body to rows.
import type { PlannedField } from '../plan/field.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { identifier, literal } from './identifier.ts'

/** Alias of the rows of the body. */
export const payloadAlias = 'pgrst_body'

export type PayloadField = Pick<PlannedField, 'name' | 'type' | 'transform' | 'default'>

export type PayloadRows = {
  /** Raw JSON text. Postgres parses it, so that numbers keep their digits. */
  readonly body: string | null
  readonly fields: readonly PayloadField[]
  /** Whether missing keys get the default of the column instead of null. */
  readonly applyDefaults: boolean
  /** Whether to read only the first row. */
  readonly single?: boolean
}

// JSON's white space (RFC 8259, section 2). The first character is sufficient, because Postgres rejects invalid JSON.
const startsWithBrace = /^[ \t\n\r]*\{/

/** Whether a JSON body is an object; otherwise, statements treat it as an array. */
export const isObject = (body: string | null): boolean => body !== null && startsWithBrace.test(body)

function defaultsSql(fields: readonly PayloadField[], object: boolean): string {
  const pairs = fields.flatMap(({ name, default: value }) => (value === null ? [] : [`${literal(name)}, ${value}`]))
  const defaults = `jsonb_build_object(${pairs.join(',')})`
  return object
    ? `LATERAL (SELECT ${defaults} || pgrst_payload.json_data AS val) pgrst_json_defs, `
    : `LATERAL (SELECT jsonb_agg(${defaults} || elem) AS val` +
        ` from jsonb_array_elements(pgrst_payload.json_data) elem) pgrst_json_defs, `
}

/** A value of the body, converted by the representation function of its field if there is one. */
export const representedSql = ({ transform }: PayloadField, value: string): string =>
  transform === null ? value : `${transform}(${value})`

function parsedSql(field: PayloadField): Fragment {
  const name = identifier(field.name)
  return field.transform === null ? name : `${representedSql(field, name)} AS ${name}`
}

function sourceSql({ fields, applyDefaults, single = false }: Omit<PayloadRows, 'body'>, object: boolean): string {
  const [value, type] = applyDefaults ? ['pgrst_json_defs.val', 'jsonb'] : ['pgrst_payload.json_data', 'json']
  // Without keys: one row for `{}`, and one row for each element of `[{}, {}]`.
  if (fields.length === 0) return object ? '(values(1)) _' : `${type}_array_elements(${value}) _`
  const columns = fields.map((field) => `${identifier(field.name)} ${field.type}`).join(', ')
  const rows = `${type}_to_${object ? 'record' : 'recordset'}(${value}) AS _(${columns})`
  return single ? `${rows} LIMIT 1` : rows
}

/**
 * `FROM` the rows of the body with the types of the fields, as `pgrst_body`. The text depends only on whether the body
 * is an object or an array.
 */
export function payloadSql(rows: PayloadRows): Fragment {
  const json: Fragment = ['(SELECT ', { value: rows.body }, rows.applyDefaults ? '::jsonb' : '::json', ' AS json_data)']
  return payloadFrom(json, isObject(rows.body), rows)
}

/**
 * `FROM` the rows of JSON values, as `pgrst_body`.
 *
 * @param source a subquery with the column `json_data`, of the type jsonb if defaults are applied, else json
 * @param object whether each value is an object; otherwise, an array of objects
 */
export function payloadFrom(source: Fragment, object: boolean, rows: Omit<PayloadRows, 'body'>): Fragment {
  return [
    'FROM ',
    source,
    ' pgrst_payload, ',
    rows.applyDefaults ? defaultsSql(rows.fields, object) : '',
    'LATERAL (SELECT ',
    join(rows.fields.map(parsedSql), ', '),
    ` FROM ${sourceSql(rows, object)}) ${payloadAlias}`,
  ]
}
