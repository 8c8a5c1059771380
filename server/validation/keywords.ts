// What the schemas say beyond JSON Schema. The names begin with `x-`, so that an OpenAPI document can carry them.
import type { CodeKeywordDefinition, SchemaValidateFunction } from 'ajv'
import { _, str, type Ajv2020, type KeywordCxt, type KeywordDefinition } from 'ajv/dist/2020.js'

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

function characters(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count++
  return count
}

/**
 * `maxLength` and `minLength` as JSON Schema has them. Ajv counts the characters of every text, which takes a third of
 * checking a row; but one or two UTF-16 units make a character, so that the number of units nearly always tells.
 */
const lengths: CodeKeywordDefinition = {
  keyword: ['maxLength', 'minLength'],
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ keyword, schemaCode }) =>
      str`must NOT have ${keyword === 'maxLength' ? 'more' : 'fewer'} than ${schemaCode} characters`,
    params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
  },
  code(context: KeywordCxt) {
    const { keyword, data, schemaCode: limit, gen } = context
    const units = _`${data}.length`
    const count = _`${gen.scopeValue('func', { ref: characters })}(${data})`
    context.fail(
      keyword === 'maxLength'
        ? _`${units} > ${limit} && ${count} > ${limit}`
        : _`${units} < ${limit} || (${units} < 2 * ${limit} && ${count} < ${limit})`,
    )
  },
}

/**
 * Adds the keywords. `x-trim` changes the checked value, so it is for bodies that are used as checked; a table's body
 * goes to the database as it came.
 */
export function addKeywords(ajv: Ajv2020, use: 'table' | 'dto'): void {
  ajv.removeKeyword('maxLength').removeKeyword('minLength').addKeyword(lengths)
  ajv.addKeyword({ keyword: tableKeyword, schemaType: 'string' })
  ajv.addKeyword(text)
  ajv.addKeyword(yearsAhead)
  if (use === 'dto') ajv.addKeyword(trim)
}
