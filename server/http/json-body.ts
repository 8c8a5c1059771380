// Receives, reads and validates JSON bodies.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { readJsonBytes, readLargeJson, type JsonFault } from '../text/json-text.ts'
import type { DtoValidator } from '../validation/validator.ts'
import type { Fault } from '../validation/fault.ts'
import { loadExpress } from './express.ts'

/** A body, and the text that it was read from. */
export type JsonBody = { readonly value: unknown; readonly text: string }

/**
 * Reads the JSON body of a request, and validates it.
 *
 * @param isOptional whether an empty body is `{}`
 */
export type JsonBodyReader = (
  request: IncomingMessage,
  response: ServerResponse,
  validate: DtoValidator,
  isOptional?: boolean,
) => Promise<JsonBody>

/** Receives a body of any content type; without a body it returns no bytes. */
export type BodyReceiver = (request: IncomingMessage, response: ServerResponse) => Promise<Buffer>

/** Which JSON bodies a service accepts, and its errors for others. */
export type JsonBodyRules = {
  readonly receive: BodyReceiver
  /** @throws the error of a content type that is refused before the body is received */
  readonly checkType?: (type: string | undefined) => void
  /** @throws the error of a content type that is refused for a body with so many bytes */
  readonly checkReceived?: (type: string | undefined, size: number) => void
  /** See `readJsonBytes`. */
  readonly mostSigns?: number
  /** Whether `null` is read as `{}`. */
  readonly nullIsEmpty?: boolean
  readonly notJson: (fault: JsonFault) => Error
  readonly invalid: (first: Fault, all: readonly Fault[]) => Error
}

/** Bytes of a body that is read and validated in several turns of the event loop. */
const largeBody = 64 * 1024

/** @returns a reader that throws the errors of the rules */
export const jsonBodyReader =
  ({ receive, checkType, checkReceived, mostSigns, nullIsEmpty, notJson, invalid }: JsonBodyRules): JsonBodyReader =>
  async (request, response, validate, isOptional = false) => {
    const type = request.headers['content-type']
    checkType?.(type)
    const bytes = await receive(request, response)
    if (bytes.length === 0 && isOptional) return { value: {}, text: '{}' }
    checkReceived?.(type, bytes.length)
    const isLarge = bytes.length > largeBody
    const reading = isLarge ? await readLargeJson(bytes, mostSigns) : readJsonBytes(bytes, mostSigns)
    if (reading.kind === 'fault') throw notJson(reading.fault)
    const { text } = reading
    if (isLarge) await nextTurn()
    const value = nullIsEmpty === true ? (reading.value ?? {}) : reading.value
    const faults = validate(value)
    const [fault] = faults
    if (fault) throw invalid(fault, faults)
    return { value, text }
  }

/** Why a body was not received. */
export type BodyFault = 'too large' | 'unsupported encoding' | 'unreadable'

/**
 * Receives bodies through Express, which decompresses them.
 *
 * @param limit bytes, after decompression
 * @param errorOf the error that the receiver throws; `cause` is that of Express's body parser, if it found the fault
 */
export function bodyReceiver(limit: number, errorOf: (fault: BodyFault, cause?: unknown) => Error): BodyReceiver {
  let receive: ReturnType<ReturnType<typeof loadExpress>['raw']> | undefined
  return async (request, response) => {
    requireLength(request, limit, () => errorOf('too large'))
    const receiveRaw = (receive ??= loadExpress().raw({ type: () => true, limit }))
    await new Promise<void>((resolve, reject) => {
      receiveRaw(request, response, (error?: unknown) => {
        if (error === undefined) resolve()
        else reject(errorOf(faultOf(error), error))
      })
    })
    const { body: bytes } = request as IncomingMessage & { readonly body?: unknown }
    // Without a body, `express.raw` sets no buffer.
    return Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0)
  }
}

/** @throws the result of `tooLarge`, before a large body is received */
export function requireLength({ headers }: IncomingMessage, limit: number, tooLarge: () => Error): void {
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge()
}

/** The fault of an error of Express's body parser, by its status. */
function faultOf(error: unknown): BodyFault {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  return status === 413 ? 'too large' : status === 415 ? 'unsupported encoding' : 'unreadable'
}
