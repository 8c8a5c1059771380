// Values as parameters. They are sent as text without a type, which Postgres infers from the context.
import type { Parameter } from './fragment.ts'
import { cutAtNul } from './identifier.ts'

export const parameter = (text: string): Parameter => ({ value: cutAtNul(text) })

/** Writes an array literal: `{"Hebdon, John","b"}`. https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
export function arrayText(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : quoted(value))).join(',')}}`
}

const quoted = (value: string): string => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`

export const arrayParameter = (values: readonly string[]): Parameter => ({ value: arrayText(values.map(cutAtNul)) })
