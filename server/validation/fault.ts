// A fault of a body: what is wrong, and where.
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { BodyProblem } from '../rest/validation.ts'

export type Fault = BodyProblem

const maxPointer = 200

/** One escaped reference token of a JSON pointer. Very long names are truncated. */
export function token(name: string): string {
  const short = name.length > maxPointer ? `${name.slice(0, maxPointer)}…` : name
  return `/${short.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/**
 * Converts an Ajv error.
 *
 * @param at JSON pointer to the checked value in the body
 */
export function faultOf(error: ErrorObject, at: string): Fault {
  const pointer = at + error.instancePath
  const params = error.params as Readonly<Record<string, unknown>>
  switch (error.keyword) {
    // Ajv points to the object. The missing or unknown property is more helpful.
    case 'required':
      return { pointer: pointer + token(String(params.missingProperty)), message: 'is required' }
    case 'additionalProperties':
      return { pointer: pointer + token(String(params.additionalProperty)), message: 'is not a known property' }
    default:
      return { pointer, message: error.message ?? 'is not valid' }
  }
}
