// A form with one file, which is read as it arrives. https://www.rfc-editor.org/rfc/rfc7578
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import { storageErrors } from './storage-error.ts'

export type UploadForm = {
  /** Text fields before the file. */
  readonly fields: ReadonlyMap<string, string>
  /** Media type of the file. */
  readonly fileType: string
  /** The bytes of the file. Ends when the whole form has arrived. */
  readonly bytes: Readable
}

const limits = { fields: 10, files: 1, fieldSize: 1024 * 1024, headerPairs: 64 }

/**
 * Reads a form up to the bytes of its file, which may have any field name.
 *
 * @throws StorageError 400 without a file
 */
export function readForm(request: IncomingMessage): Promise<UploadForm> {
  const parser = createParser(request)
  const fields = new Map<string, string>()
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      request.unpipe(parser)
      reject(storageErrors.noContent(undefined, error))
    }
    parser.on('field', (name, value) => fields.set(name, value))
    parser.on('file', (_name, file, _fileName, _encoding, fileType) => {
      resolve({ fields, fileType, bytes: Readable.from(bytesOf(request, parser, file), { objectMode: false }) })
    })
    parser.on('error', fail)
    parser.on('finish', () => fail(new Error('the form has no file')))
    request.on('error', fail)
    request.pipe(parser)
  })
}

function createParser(request: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({ headers: request.headers as BusboyHeaders, limits })
  } catch (error) {
    // The boundary is missing.
    throw storageErrors.noContent(undefined, error)
  }
}

/** The bytes of the file. Fails if the form breaks off after it. */
async function* bytesOf(
  request: IncomingMessage,
  parser: BusboyInstance,
  file: BusboyFileStream,
): AsyncGenerator<Buffer> {
  const finished = new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => {
      file.destroy(error)
      reject(error)
    }
    parser.on('finish', resolve)
    parser.on('error', fail)
    request.on('error', fail)
    request.on('close', () => {
      if (!request.complete) fail(new Error('the request broke off'))
    })
  })
  // Awaited below. Without this handler, an earlier rejection would be unhandled.
  finished.catch(() => undefined)
  try {
    yield* file as AsyncIterable<Buffer>
    await finished
  } finally {
    request.unpipe(parser)
    parser.destroy()
  }
}
