// Images and text fields of a `multipart/form-data` body. https://www.rfc-editor.org/rfc/rfc7578
import type { IncomingMessage } from 'node:http'
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import type { BodyShare } from '../../rest/request/body-budget.ts'
import { JoinedPieces } from '../../common/joined-pieces.ts'
import { mediaTypeOf } from './image-type.ts'
import { Problem, problems } from './problem.ts'
import { receivePieces } from './receive.ts'
import type { UploadSettings, Upload, UploadedImage } from './uploaded-images.ts'

/** Maximum number of text fields, and the maximum bytes of one. */
const mostFields = 64
const longestField = 16 * 1024
/** Maximum number of files in fields of other names, which are discarded. */
const mostOtherFiles = 8
const longestName = 255
const longestPartHeader = 16 * 1024
/** Bytes that are parsed before a form with too many parts is refused: thousands of parts fit into a piece. */
const mostAtOnce = 8 * 1024

const malformed = (cause?: unknown): Problem => new Problem(400, 'There was an error parsing the body', {}, cause)

/**
 * Parses the body as it arrives. Discards files above the limit and files in fields of other names.
 *
 * @throws Problem 400 when the body is not multipart or ends early, 413 for too many parts, 422 for an image field with
 *   text in it; the errors of `receivePieces`
 */
export async function readMultipart(
  request: IncomingMessage,
  settings: UploadSettings,
  share: BodyShare,
): Promise<Upload> {
  const { bodyLimit, batchLimit } = settings
  const parser = createParser(request, batchLimit + mostOtherFiles + 1)
  const form = new Form(settings)
  const parsed = form.fillFrom(parser)
  // Awaited below. Without this handler, an earlier rejection would be unhandled.
  parsed.catch(() => undefined)
  try {
    await receivePieces(
      request,
      { limit: bodyLimit, share, tooLarge: () => problems.bodyTooLarge(bodyLimit) },
      (piece) => {
        let accepts = true
        for (let at = 0; at < piece.length; at += mostAtOnce) {
          form.throwFault()
          accepts = parser.write(piece.subarray(at, at + mostAtOnce))
        }
        return accepts ? undefined : drained(parser, parsed)
      },
    )
    parser.end()
    await parsed
    return form
  } finally {
    parser.destroy()
  }
}

function createParser(request: IncomingMessage, files: number): BusboyInstance {
  try {
    return new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: {
        files,
        fields: mostFields,
        fieldSize: longestField,
        parts: files + mostFields,
        headerPairs: 32,
        headerSize: longestPartHeader,
      },
    })
  } catch (error) {
    // The boundary is missing.
    throw malformed(error)
  }
}

/** Resolves when the parser accepts more data; rejects when it has failed. */
function drained(parser: BusboyInstance, parsed: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once('drain', resolve)
    parsed.catch(reject)
  })
}

class Form implements Upload {
  readonly images: UploadedImage[] = []
  readonly fields = new Map<string, string[]>()
  readonly #settings: UploadSettings
  #fault: Problem | undefined
  #imageCount = 0

  constructor(settings: UploadSettings) {
    this.#settings = settings
  }

  /** Resolves when the parser has read everything. */
  fillFrom(parser: BusboyInstance): Promise<void> {
    const { names, fileLimit, batchLimit } = this.#settings
    const tooMany = (): void => {
      this.#fault ??= problems.tooManyFiles(batchLimit)
    }
    return new Promise((resolve, reject) => {
      parser.on('file', (field, stream, filename, _encoding, type) => {
        // The body ended within a file. The parser reports the same error.
        stream.on('error', (error) => reject(malformed(error)))
        if (!names.has(field)) {
          stream.resume()
          return
        }
        const index = this.#imageCount++
        if (this.#imageCount > batchLimit) tooMany()
        let file = new JoinedPieces()
        let size = 0
        stream.on('data', (piece: Buffer) => {
          size += piece.length
          if (size <= fileLimit && !this.#fault) file.add(piece)
          else file = new JoinedPieces()
        })
        stream.on('end', () => {
          this.images[index] = {
            name: (filename as string | undefined)?.slice(0, longestName) ?? '',
            type: mediaTypeOf(type),
            bytes: size > fileLimit ? undefined : file.join(),
          }
        })
      })
      parser.on('field', (field, text, _nameTruncated, isTruncated) => {
        if (names.has(field)) this.#fault ??= problems.invalid('value_error', ['body', field], 'Expected a file')
        else if (isTruncated)
          this.#fault ??= problems.invalid('string_too_long', ['body', field], 'The text is too long')
        else this.fields.set(field, [...(this.fields.get(field) ?? []), text])
      })
      parser.on('filesLimit', tooMany)
      for (const limit of ['partsLimit', 'fieldsLimit'] as const) {
        parser.on(limit, () => (this.#fault ??= new Problem(413, 'The request body has too many parts.')))
      }
      parser.on('error', (error) => reject(malformed(error)))
      parser.on('finish', () => {
        if (this.#fault) reject(this.#fault)
        else resolve()
      })
    })
  }

  /** @throws Problem as soon as the body is known to be invalid */
  throwFault(): void {
    if (this.#fault) throw this.#fault
  }
}
