// What is wrong with a body, and where.
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { BodyProblem } from '../rest/validation.ts'

export type Fault = BodyProblem

const maxPointer = 200

/** One reference token of a JSON pointer, with its escapes. A name that a client made endless is cut. */
function token(name: string): string {
  const short = name.length > maxPointer ? `${name.slice(0, maxPointer)}…` : name
  return `/${short.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** An Ajv error in terms of the body; `at` is the pointer to the value that was checked. */
export function faultOf(error: ErrorObject, at: string): Fault {
  const pointer = at + error.instancePath
  const params = error.params as Readonly<Record<string, unknown>>
  switch (error.keyword) {
    // Ajv points at the object; the property that is missing or too much says more.
    case 'required':
      return { pointer: pointer + token(String(params.missingProperty)), message: 'is required' }
    case 'additionalProperties':
      return { pointer: pointer + token(String(params.additionalProperty)), message: 'is not a known property' }
    default:
      return { pointer, message: error.message ?? 'is not valid' }
  }
}
