// Reads and validates JSON bodies.
import type { Request, Response } from 'express'
import { readJsonBytes } from '../text/json-text.ts'
import type { DtoValidator } from '../validation/validator.ts'
import { bodyReceiver, type BodyFault } from './body-bytes.ts'
import { Failure, failures } from './envelope.ts'

/** Reads the JSON body of a request, and validates it. */
export type BodyReader = <T>(request: Request, response: Response, validate: DtoValidator) => Promise<T>

/**
 * A reader of bodies of at most `limit` bytes (after decompression).
 *
 * @throws Failure 415 for another content type, encoding or charset; 413 for a larger body; 400 with the faults of an
 *   invalid body
 */
export function bodyReader(limit: number): BodyReader {
  const receive = bodyReceiver(limit, (fault, cause) => failureOf(fault, limit, cause))
  return async <T>(request: Request, response: Response, validate: DtoValidator): Promise<T> => {
    if (!isJson(request.headers['content-type'] ?? ''))
      throw new Failure(415, 'The body must be application/json in UTF-8')
    const body = parse(await receive(request, response))
    const faults = validate(body)
    if (faults.length > 0) throw failures.faults(faults)
    // The validator has checked the type.
    return body as T
  }
}

/** `application/json`, whose only charset is UTF-8 (RFC 8259, section 8.1). */
function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    type.trim() === 'application/json' &&
    parameters.every((parameter) => {
      const [name = '', value = ''] = parameter.split('=')
      return name.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value)
    })
  )
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Failure(400, 'The body is empty')
  const reading = readJsonBytes(bytes)
  if (reading.kind === 'fault') throw new Failure(400, `The body ${reading.fault}`)
  return reading.value
}

function failureOf(fault: BodyFault, limit: number, cause: unknown): Failure {
  switch (fault) {
    case 'too large':
      return new Failure(413, `The body is larger than ${limit} bytes`)
    case 'unsupported encoding':
      return new Failure(415, 'The content encoding of the body is not supported')
    case 'unreadable':
      return new Failure(400, 'The body could not be read', { cause })
    default:
      return fault satisfies never
  }
}
