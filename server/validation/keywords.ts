// Our keywords for JSON Schemas. Their names begin with `x-`, so that they are valid in OpenAPI documents.
import type { CodeKeywordDefinition, SchemaValidateFunction } from 'ajv'
import type { Ajv2020, KeywordCxt, KeywordDefinition } from 'ajv/dist/2020.js'
import { isUri } from '../text/uri.ts'
import { loadAjv } from './ajv.ts'
import { maxLength } from './formats.ts'
import { isStorable, notStorable } from '../text/storable-text.ts'

/** `"x-table": "public.tasks"`: bodies for this table must match the schema. */
export const tableKeyword = 'x-table'

/** `"x-text": true`: text that Postgres can store, without NUL and lone surrogates. */
const text: KeywordDefinition = {
  keyword: 'x-text',
  type: 'string',
  schemaType: 'boolean',
  validate: (wanted: boolean, value: string) => !wanted || isStorable(value),
  error: { message: notStorable },
}

/** Without blanks and control characters before it, which browsers skip: they are no part of a URI. */
const schemeOf = (uri: string): string | undefined => /^([a-z][a-z\d+.-]*):/i.exec(uri)?.[1]?.toLowerCase()

const validateScheme: SchemaValidateFunction = (schemes: readonly string[], value: string) => {
  const scheme = schemeOf(value)
  // What is no URI is reported by its format.
  if (scheme === undefined || schemes.includes(scheme)) return true
  if (value.length > maxLength || !isUri(value)) return true
  const [last = '', ...others] = schemes.map((it) => `${it}:`).reverse()
  const allowed = `${others.reverse().join(', ')} or ${last}`
  const message = `must begin with ${allowed}, not with ${scheme.slice(0, 20)}:`
  validateScheme.errors = [{ keyword: 'x-schemes', message, params: { schemes } }]
  return false
}

/**
 * `"x-schemes": ["http", "https"]`: a URI with one of these schemes. Others, such as `javascript:`, would be executed by a page
 * that makes a link of it.
 */
const schemes: KeywordDefinition = {
  keyword: 'x-schemes',
  type: 'string',
  schemaType: 'array',
  validate: validateScheme,
  errors: true,
}

/** Ajv reads the errors of a keyword from a property of its function. */
const validateYear: SchemaValidateFunction = (years: number, value: number) => {
  const latest = new Date().getUTCFullYear() + years
  if (value <= latest) return true
  validateYear.errors = [{ keyword: 'maximum', message: `must be <= ${latest}`, params: { limit: latest } }]
  return false
}

/** `"x-maximum-years-ahead": 1`: a year no later than next year (UTC). Reads the clock at each validation. */
const yearsAhead: KeywordDefinition = {
  keyword: 'x-maximum-years-ahead',
  type: 'number',
  schemaType: 'number',
  validate: validateYear,
  errors: true,
}

/**
 * `"x-coerce": true` at the root of a schema of a service: values of other types are converted where that is possible, `"10"` to
 * 10, null to an empty text, a single value to a list. The body is changed in place.
 */
export const coerceKeyword = 'x-coerce'

type Parent = { readonly parentData: Record<string, unknown>; readonly parentDataProperty: string | number }

/** `"x-trim": true`: removes white space around the text from the value, before anything else is checked. */
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
 * `maxLength` and `minLength` of JSON Schema, but faster. Ajv counts the characters of every text, which takes a third
 * of the time for a row. A character has one or two UTF-16 units, so the number of units nearly always decides.
 */
const lengths: CodeKeywordDefinition = {
  keyword: ['maxLength', 'minLength'],
  type: 'string',
  schemaType: 'number',
  before: 'pattern',
  error: {
    message: ({ keyword, schemaCode }) =>
      loadAjv().str`must NOT have ${keyword === 'maxLength' ? 'more' : 'fewer'} than ${schemaCode} characters`,
    params: ({ schemaCode }) => loadAjv()._`{limit: ${schemaCode}}`,
  },
  code(context: KeywordCxt) {
    const { _ } = loadAjv()
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
 * Adds the keywords. `x-trim` and `x-coerce` change the value, so only DTOs have them: the body for a table goes to the
 * database unchanged.
 */
export function addKeywords(ajv: Ajv2020, use: 'table' | 'dto'): void {
  ajv.removeKeyword('maxLength').removeKeyword('minLength').addKeyword(lengths)
  ajv.addKeyword({ keyword: tableKeyword, schemaType: 'string' })
  ajv.addKeyword(text)
  ajv.addKeyword(yearsAhead)
  ajv.addKeyword(schemes)
  if (use === 'dto') ajv.addKeyword(trim).addKeyword({ keyword: coerceKeyword, schemaType: 'boolean' })
}
