// Decides which bodies are imported: those of the type application/x-ndjson, and CSV that is too large for memory.
import { errors } from '../../errors.ts'
import { BodyMeter, largeBody, type BodyGate, type BodyStream } from '../../request/body.ts'
import { isCsv } from '../../request/csv.ts'
import type { RestRequest } from '../../rest-request.ts'
import type { RestSettings } from '../../settings.ts'

export type ImportFormat = 'csv' | 'ndjson'

const ndjson = /^\s*application\/x-ndjson\s*(?:;|$)/i
/** A path of one segment, which names a relation. */
const relationPath = /^\/[^/]+$/

/** A body that is read piece by piece. */
export class ImportBody {
  readonly format: ImportFormat
  readonly #stream: BodyStream
  readonly #gate: BodyGate
  readonly #limit: number
  /** Pieces that were read before the body turned out to be large. */
  readonly #arrived: Buffer[]
  #bytes: number
  #isComplete = false

  /** @param limit maximum size of the body in bytes */
  constructor(format: ImportFormat, stream: BodyStream, gate: BodyGate, limit: number, arrived: Buffer[] = []) {
    this.format = format
    this.#stream = stream
    this.#gate = gate
    this.#limit = limit
    this.#arrived = arrived
    this.#bytes = arrived.reduce((sum, { length }) => sum + length, 0)
  }

  /** Bytes that have arrived. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the whole body has arrived. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /**
   * The next piece; undefined at the end.
   *
   * @throws ApiError 413; 400 when the client closes the connection early
   */
  async next(): Promise<Buffer | undefined> {
    const earlier = this.#arrived.shift()
    if (earlier) return earlier
    // What was read before is no longer in memory.
    this.#gate.share.release()
    const piece = await this.#stream.next()
    if (!piece) {
      this.#isComplete = true
      return undefined
    }
    this.#bytes += piece.length
    if (this.#bytes > this.#limit) throw errors.bodyTooLarge(this.#limit)
    return piece
  }

  /** Stops reading. */
  stop(): void {
    this.#stream.stop()
  }
}

type ImportSettings = Pick<RestSettings, 'restImportLimit'>

/**
 * Opens the body of a POST request if it is imported, after the check whether the request may succeed.
 *
 * @returns undefined for a body to be read by `readBody`; otherwise a promise of the opened body, or of the whole body if
 *   it is CSV that fits into memory
 * @throws ApiError 415; 413 as a rejection; the errors of the gate
 */
export function openImport(
  request: RestRequest,
  path: string,
  gate: BodyGate,
  { restImportLimit: limit }: ImportSettings,
): Promise<ImportBody | Buffer> | undefined {
  const type = request.header('content-type')
  if (type === undefined) return undefined
  const isNdjson = ndjson.test(type)
  if (!isNdjson && !isCsv(type)) return undefined
  if (limit === 0 || !request.streamBody || !relationPath.test(path)) return undefined
  const length = request.header('content-length')
  const declared = length === undefined ? undefined : Number(length)
  if (isNdjson) {
    // For CSV, the header is ignored, as in PostgREST.
    const encoding = request.header('content-encoding') ?? 'identity'
    if (!/^(?:identity)?$/i.test(encoding)) throw errors.importEncoding(encoding)
    return openNdjson(request.streamBody.bind(request), declared, gate, limit)
  }
  if (limit <= gate.limit || (declared !== undefined && declared <= gate.limit)) return undefined
  return openCsv(request.streamBody.bind(request), declared, gate, limit)
}

type Open = () => BodyStream

async function openNdjson(
  open: Open,
  declared: number | undefined,
  gate: BodyGate,
  limit: number,
): Promise<ImportBody> {
  if (declared !== undefined && declared > limit) throw errors.bodyTooLarge(limit)
  if (declared === undefined || declared > largeBody) await gate.admit()
  return new ImportBody('ndjson', open(), gate, limit)
}

async function openCsv(
  open: Open,
  declared: number | undefined,
  gate: BodyGate,
  limit: number,
): Promise<ImportBody | Buffer> {
  if (declared !== undefined) {
    if (declared > limit) throw errors.bodyTooLarge(limit)
    await gate.admit()
    return new ImportBody('csv', open(), gate, limit)
  }
  const stream = open()
  const meter = new BodyMeter(gate)
  const arrived: Buffer[] = []
  let size = 0
  try {
    for (;;) {
      const piece = await stream.next()
      if (!piece) return Buffer.concat(arrived)
      arrived.push(piece)
      size += piece.length
      if (size > gate.limit) return new ImportBody('csv', stream, gate, limit, arrived)
      await meter.add(piece.length)
    }
  } catch (error) {
    stream.stop()
    throw error
  }
}
