// Reads and validates JSON bodies.
import express, { type Request, type Response } from 'express'
import type { DtoValidator } from '../validation/validator.ts'
import { Failure, failures } from './envelope.ts'
import { readJson } from '../text/json-text.ts'

/** Reads the JSON body of a request, and validates it. */
export type BodyReader = <T>(request: Request, response: Response, validate: DtoValidator) => Promise<T>

/**
 * A reader of bodies of at most `limit` bytes (after decompression).
 *
 * @throws Failure 415 for another content type, encoding or charset; 413 for a larger body; 400 with the faults of an
 *   invalid body
 */
export function bodyReader(limit: number): BodyReader {
  const receive = express.raw({ type: () => true, limit })
  return async <T>(request: Request, response: Response, validate: DtoValidator): Promise<T> => {
    if (!isJson(request.headers['content-type'] ?? ''))
      throw new Failure(415, 'The body must be application/json in UTF-8')
    // Rejects a large body before receiving it.
    if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
    await new Promise<void>((resolve, reject) => {
      receive(request, response, (error?: unknown) => {
        if (error === undefined) resolve()
        else reject(unreadable(error, limit))
      })
    })
    const body = parse(request.body as unknown)
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

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parse(bytes: unknown): unknown {
  // Without a body, `express.raw` sets no buffer.
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) throw new Failure(400, 'The body is empty')
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Failure(400, 'The body is not valid UTF-8')
  }
  const reading = readJson(text)
  if (reading.kind === 'fault') throw new Failure(400, `The body ${reading.fault}`)
  return reading.value
}

const tooLarge = (limit: number): Failure => new Failure(413, `The body is larger than ${limit} bytes`)

/** Maps an error of Express's body parser by its status. */
function unreadable(error: unknown, limit: number): Failure {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  switch (status) {
    case 413:
      return tooLarge(limit)
    case 415:
      return new Failure(415, 'The content encoding of the body is not supported')
    default:
      return new Failure(400, 'The body could not be read', { cause: error })
  }
}
