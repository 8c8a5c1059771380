// Types of PostgreSQL as types of Swagger 2.0.
import { object, type OrderedJson, type OrderedObject } from './ordered-json.ts'

export type SwaggerType = 'string' | 'boolean' | 'integer' | 'number' | 'array'

const types = new Map<string, SwaggerType | undefined>([
  ['boolean', 'boolean'],
  ['smallint', 'integer'],
  ['integer', 'integer'],
  ['bigint', 'integer'],
  ['numeric', 'number'],
  ['real', 'number'],
  ['double precision', 'number'],
  // Any value at all, which Swagger says by naming no type.
  ['json', undefined],
  ['jsonb', undefined],
])

const formats = new Map([
  ['smallint', 'int32'],
  ['integer', 'int32'],
  ['bigint', 'int64'],
])

/** The type for a name as `format_type` writes it; undefined for json and jsonb. What is not known is a string. */
export function swaggerType(type: string): SwaggerType | undefined {
  if (types.has(type)) return types.get(type)
  return type.endsWith('[]') ? 'array' : 'string'
}

/** Swagger's own formats for integers; for everything else the name of the type. */
export const swaggerFormat = (type: string): string => formats.get(type) ?? type

/** The type of an array's elements (of any type: its name less the two last characters). */
export const elementType = (type: string): string => type.slice(0, -2)

/** `items` of an array; undefined for other types. */
export const arrayItems = (type: string): OrderedObject | undefined =>
  swaggerType(type) === 'array' ? object(['type', swaggerType(elementType(type))]) : undefined

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/**
 * The value of a default expression, where it is a constant that JSON can write: `42`, `false`, `'x'::text`. For types
 * that are strings an expression that is no constant is given as its text: `now()`.
 */
export function defaultValue(type: string, expression: string): OrderedJson | undefined {
  if (swaggerType(type) === 'string') return textDefault(type, expression)
  if (numberText.test(expression)) return { number: expression }
  return expression === 'true' ? true : expression === 'false' ? false : undefined
}

/** The text becomes a JSON string as it stands, so that its backslashes are escapes; where it cannot, there is no default. */
function textDefault(type: string, expression: string): string | undefined {
  const cast = `::${type}`
  const text = expression.endsWith(cast) ? withoutQuotes(expression.slice(0, -cast.length)) : expression
  try {
    const value: unknown = JSON.parse(`"${text}"`)
    return typeof value === 'string' && !/\p{Cs}/u.test(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Drops every quote at both ends. */
function withoutQuotes(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && text[start] === "'") start++
  while (end > start && text[end - 1] === "'") end--
  return text.slice(start, end)
}
