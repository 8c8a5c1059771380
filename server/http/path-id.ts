// Path parameters that are ids.
import { failures } from './envelope.ts'
import type { JsonSchema } from './json-schema.ts'
import { isUuid } from '../text/uuid.ts'

export type PathParameter<T> = {
  readonly description: string
  readonly schema: JsonSchema
  /** @throws Failure 400 when the text is invalid */
  readonly read: (text: string) => T
}

const schema: JsonSchema = { type: 'string', format: 'uuid' }

/** @throws Failure 400 when the text is not a UUID */
function uuidIn(text: string): string {
  if (!isUuid(text)) throw failures.invalid({ id: 'must be a UUID' })
  return text.toLowerCase()
}

/** A path parameter that is a UUID or one of the given words. */
export const uuidParameter = (description: string, ...words: readonly string[]): PathParameter<string> => ({
  description,
  schema: words.length === 0 ? schema : { anyOf: [schema, ...words.map((word) => ({ const: word }))] },
  read: (text) => (words.includes(text) ? text : uuidIn(text)),
})
