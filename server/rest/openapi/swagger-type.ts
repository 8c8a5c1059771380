// Converts types of PostgreSQL to types of Swagger 2.0.
import { NumberText, type OrderedJson } from './ordered-json.ts'

export type SwaggerType = 'string' | 'boolean' | 'integer' | 'number' | 'array'

const types = new Map<string, SwaggerType | undefined>([
  ['boolean', 'boolean'],
  ['smallint', 'integer'],
  ['integer', 'integer'],
  ['bigint', 'integer'],
  ['numeric', 'number'],
  ['real', 'number'],
  ['double precision', 'number'],
  // Any value, which has no type in Swagger.
  ['json', undefined],
  ['jsonb', undefined],
])

const formats = new Map([
  ['smallint', 'int32'],
  ['integer', 'int32'],
  ['bigint', 'int64'],
])

/** The Swagger type of a type as `format_type` writes it; undefined for json and jsonb, `string` for unknown types. */
export function swaggerType(type: string): SwaggerType | undefined {
  if (types.has(type)) return types.get(type)
  return type.endsWith('[]') ? 'array' : 'string'
}

/** Swagger's format of an integer; for other types the name of the type. */
export const swaggerFormat = (type: string): string => formats.get(type) ?? type

/** The type of the elements of an array type. */
export const elementType = (type: string): string => type.slice(0, -2)

/** `items` of an array; undefined for other types. */
export const arrayItems = (type: string): OrderedJson | undefined =>
  swaggerType(type) === 'array' ? { type: swaggerType(elementType(type)) } : undefined

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/**
 * The value of a default expression, if it is a constant that JSON can represent: `42`, `false`, `'x'::text`. For types
 * that are strings in Swagger, the text of any other expression: `now()`.
 */
export function defaultValue(type: string, expression: string): OrderedJson | undefined {
  if (swaggerType(type) === 'string') return textDefault(type, expression)
  if (numberText.test(expression)) return new NumberText(expression)
  return expression === 'true' ? true : expression === 'false' ? false : undefined
}

/** Reads the text as the inside of a JSON string, where backslashes are escapes; undefined if that is not valid. */
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

/** Removes all quotes at both ends. */
function withoutQuotes(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && text[start] === "'") start++
  while (end > start && text[end - 1] === "'") end--
  return text.slice(start, end)
}
