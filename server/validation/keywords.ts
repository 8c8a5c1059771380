// What the schemas say beyond JSON Schema. The names begin with `x-`, so that an OpenAPI document can carry them.
import type { SchemaValidateFunction } from 'ajv'
import type { Ajv2020, KeywordDefinition } from 'ajv/dist/2020.js'

/** `"x-table": "public.tasks"`: bodies for this table must meet the schema. */
export const tableKeyword = 'x-table'

/** `"x-text": true`: text that Postgres can store, so neither NUL nor half a surrogate pair. */
const text: KeywordDefinition = {
  keyword: 'x-text',
  type: 'string',
  schemaType: 'boolean',
  validate: (wanted: boolean, value: string) => !wanted || !/[\0\p{Cs}]/u.test(value),
  error: { message: 'must not contain NUL or incomplete characters' },
}

/** Ajv takes the errors of a keyword from a property of its function. */
const validateYear: SchemaValidateFunction = (years: number, value: number) => {
  const latest = new Date().getUTCFullYear() + years
  if (value <= latest) return true
  validateYear.errors = [{ keyword: 'maximum', message: `must be <= ${latest}`, params: { limit: latest } }]
  return false
}

/** `"x-maximum-years-ahead": 1`: a year no later than next year (UTC). The clock is read at each validation. */
const yearsAhead: KeywordDefinition = {
  keyword: 'x-maximum-years-ahead',
  type: 'number',
  schemaType: 'number',
  validate: validateYear,
  errors: true,
}

type Parent = { readonly parentData: Record<string, unknown>; readonly parentDataProperty: string | number }

/** `"x-trim": true`: white space around the text is dropped from the value before anything else is checked. */
const trim: KeywordDefinition = {
  keyword: 'x-trim',
  type: 'string',
  schemaType: 'boolean',
  before: 'maxLength',
  modifying: true,
  valid: true,
  errors: false,
  validate: (wanted: boolean, value: string, _schema: unknown, at?: Parent) => {
    if (wanted && at) at.parentData[at.parentDataProperty] = value.trim()
    return true
  },
}

/**
 * Adds the keywords. `x-trim` changes the checked value, so it is for bodies that are used as checked; a table's body
 * goes to the database as it came.
 */
export function addKeywords(ajv: Ajv2020, use: 'table' | 'dto'): void {
  ajv.addKeyword({ keyword: tableKeyword, schemaType: 'string' })
  ajv.addKeyword(text)
  ajv.addKeyword(yearsAhead)
  if (use === 'dto') ajv.addKeyword(trim)
}
