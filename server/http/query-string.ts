// Reads and validates the query string of a request.
import type { IncomingMessage } from 'node:http'
import type { DtoValidator } from '../validation/validator.ts'
import { Failure, failures } from './envelope.ts'

/** The parameters of a request target. Of a name that is given twice, `get` returns the first value. */
export function searchOf(target: string): URLSearchParams {
  const start = target.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : target.slice(start + 1))
}

const maxName = 200

/** A JSON number. */
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Reads the query string of a request, and validates it.
 *
 * @param numeric names of parameters that are numbers
 * @throws Failure 400, naming all invalid parameters
 */
export function readQuery<T>(request: IncomingMessage, numeric: ReadonlySet<string>, validate: DtoValidator): T {
  const target = request.url ?? ''
  const start = target.indexOf('?')
  // No prototype, so that no parameter name has a special meaning.
  const record = Object.create(null) as Record<string, unknown>
  for (const pair of start < 0 ? [] : target.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals))
    const text = equals < 0 ? '' : decoded(pair.slice(equals + 1))
    if (name in record) throw failures.invalid(Object.fromEntries([[name.slice(0, maxName), 'is given twice']]))
    record[name] = numeric.has(name) && text.length <= 100 && number.test(text) ? Number(text) : text
  }
  const faults = validate(record)
  if (faults.length > 0) throw failures.faults(faults, 'query')
  // The validator has checked the type.
  return record as T
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Failure(400, 'The query is not valid: it must be percent-encoded UTF-8')
  }
}
