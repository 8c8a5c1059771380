// Streams large objects to and from a server without keeping them in memory.
import { readFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Bytes of a piece of an upload. */
const pieceSize = 1024 * 1024

/** Bytes that differ from piece to piece. */
function* piecesOf(size: number): Generator<Buffer> {
  for (let sent = 0; sent < size; sent += pieceSize) {
    const piece = Buffer.alloc(Math.min(pieceSize, size - sent), 'storage ')
    piece.writeDoubleLE(sent, 0)
    yield piece
  }
}

const respond = (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: Readable | undefined,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, resolve)
    request.on('error', reject)
    if (body) pipeline(body, request).catch(reject)
    else request.end()
  })

/**
 * Uploads bytes, and returns their MD5.
 *
 * @throws Error when the response is not 200
 */
export async function uploadBytes(url: string, authorization: string, size: number): Promise<string> {
  const hash = createHash('md5')
  const source = function* (): Generator<Buffer> {
    for (const piece of piecesOf(size)) {
      hash.update(piece)
      yield piece
    }
  }
  const headers = { Authorization: authorization, 'Content-Length': String(size), 'Content-Type': 'application/x-test' }
  const response = await respond(url, 'PUT', headers, Readable.from(source(), { objectMode: false }))
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) text += chunk
  if (response.statusCode !== 200) throw new Error(`upload: ${response.statusCode} ${text}`)
  return hash.digest('hex')
}

/** Downloads bytes, and returns their MD5. */
export async function downloadBytes(url: string): Promise<string> {
  const response = await respond(url, 'GET', {}, undefined)
  const hash = createHash('md5')
  for await (const chunk of response as AsyncIterable<Buffer>) hash.update(chunk)
  return hash.digest('hex')
}

/** The highest resident memory of a process so far, in MiB. Linux only. */
export async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1]) / 1024
}
