// The query of a request as a record that a schema can judge.
import type { IncomingMessage } from 'node:http'
import type { DtoValidator } from '../validation/validator.ts'
import { Failure, failures } from './envelope.ts'

const maxName = 200

/** A number as JSON has it. */
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Reads the query of a request.
 *
 * @param numeric parameters that stand for numbers
 * @throws Failure 400, naming every parameter that is wrong
 */
export function readQuery<T>(request: IncomingMessage, numeric: ReadonlySet<string>, validate: DtoValidator): T {
  const target = request.url ?? ''
  const start = target.indexOf('?')
  // Without a prototype, so that no name means anything.
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
  // The validator has just seen to it.
  return record as T
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new Failure(400, 'The query is not valid: it must be percent-encoded UTF-8')
  }
}
