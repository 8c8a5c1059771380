// Values as parameters. They are sent as text without a type, so that Postgres infers it from the place they stand in.
import type { Parameter } from './fragment.ts'
import { cutAtNul } from './identifier.ts'

export const parameter = (text: string): Parameter => ({ value: cutAtNul(text) })

/** Text of an array of texts, such as `{"Hebdon, John","b"}`. https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
export function arrayText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`
}

export const arrayParameter = (values: readonly string[]): Parameter => ({ value: arrayText(values.map(cutAtNul)) })
