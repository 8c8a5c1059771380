// Objects come back as they were sent, although the memory of their chunks is freed early: many callers at once, with slow
// ones and ones that disconnect.
import { createHash, randomBytes } from 'node:crypto'
import { request as send, type OutgoingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { seededRandom, type Random } from '../support/seeded-random.ts'
import { startStorageService, storageBearer } from '../support/storage.ts'

const mebibyte = 1024 * 1024
const { database, url } = await startStorageService(t)
await database.query("insert into storage.buckets (id, name, public) values ('b', 'b', true)")
const authorization = { Authorization: await storageBearer('service_role') }
const digest = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')

type Exchange = {
  readonly method: string
  readonly path: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Buffer
  /** Bytes of a write, and milliseconds after each piece of the response. */
  readonly size: number
  readonly delay: number
  /** Disconnects after so many bytes of the request or the response. */
  readonly breakAt?: number | undefined
}

/** The status and body of the response; undefined if the client has disconnected. */
function exchange({ method, path, headers, body, size, delay, breakAt = Infinity }: Exchange) {
  return new Promise<{ readonly status: number; readonly bytes: Buffer } | undefined>((resolve, reject) => {
    let moved = 0
    const request = send(`${url}/storage/v1${path}`, {
      method,
      headers: { ...authorization, ...headers },
      agent: false,
    })
    const isOver = (count: number): boolean => {
      moved += count
      if (moved < breakAt) return false
      request.destroy()
      resolve(undefined)
      return true
    }
    request.on('error', (error) => (moved < breakAt ? reject(error) : resolve(undefined)))
    request.on('response', (response) => {
      const read = async (): Promise<void> => {
        const pieces: Buffer[] = []
        for await (const piece of response as AsyncIterable<Buffer>) {
          pieces.push(piece)
          if (isOver(piece.length)) return
          if (delay > 0) await pause(delay)
        }
        resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(pieces) })
      }
      read().catch((error: unknown) => (moved < breakAt ? reject(error as Error) : resolve(undefined)))
    })
    const write = async (): Promise<void> => {
      for (let start = 0; body && start < body.length; start += size) {
        const piece = body.subarray(start, start + size)
        await new Promise<void>((written) => request.write(piece, () => written()))
        if (isOver(piece.length)) return
      }
      request.end()
    }
    void write()
  })
}

const sizeOf = (random: Random): number =>
  random.pick([0, 1, 1000, 16 * 1024, 64 * 1024, 64 * 1024 + 1, 300_000, mebibyte, random.below(4 * mebibyte)])

/** The body of an upload: raw, or a form. */
function uploadOf(random: Random, bytes: Buffer): Pick<Exchange, 'headers' | 'body'> {
  const common = { 'x-upsert': 'true' }
  const type = random.pick(['application/octet-stream', 'image/png'])
  if (random.chance(0.5)) return { headers: { ...common, 'Content-Type': type }, body: bytes }
  const start = `--x\r\nContent-Disposition: form-data; name=""; filename="f"\r\nContent-Type: ${type}\r\n\r\n`
  return {
    headers: { ...common, 'Content-Type': 'multipart/form-data; boundary=x' },
    body: Buffer.concat([Buffer.from(start), bytes, Buffer.from('\r\n--x--\r\n')]),
  }
}

t.test('uploads and downloads of many callers at once', async (t) => {
  const caller = async (seed: number): Promise<void> => {
    const random = seededRandom(seed)
    let content: Buffer | undefined
    for (let round = 0; round < 12; round++) {
      const manner = (bytes: number) => ({
        size: 1 + random.below(random.pick([64 * 1024, mebibyte, 8 * mebibyte])),
        delay: random.pick([0, 0, 5]),
        breakAt: bytes > 0 && random.chance(0.2) ? 1 + random.below(bytes) : undefined,
      })
      if (content === undefined || random.chance(0.4)) {
        const bytes = randomBytes(sizeOf(random))
        const path = `/object/b/${seed}`
        const answer = await exchange({ method: 'POST', path, ...uploadOf(random, bytes), ...manner(bytes.length) })
        // A break near the end may come too late to stop the upload.
        if (!answer && content === undefined) continue
        if (answer) {
          t.equal(answer.status, 200, answer.bytes.toString())
          content = bytes
          continue
        }
        const kept = await exchange({ method: 'GET', path, size: 1, delay: 0 })
        const digests = [content, bytes].map((one) => one && digest(one))
        t.ok(kept && digests.includes(digest(kept.bytes)), 'the old or the new bytes')
        content = kept?.bytes
        continue
      }
      const start = content.length > 0 && random.chance(0.5) ? random.below(content.length) : undefined
      const end = start === undefined ? content.length : start + 1 + random.below(content.length - start)
      const answer = await exchange({
        method: 'GET',
        path: random.chance(0.5) ? `/object/public/b/${seed}` : `/object/b/${seed}`,
        headers: start === undefined ? {} : { Range: `bytes=${start}-${end - 1}` },
        ...manner(end - (start ?? 0)),
      })
      if (!answer) continue
      t.equal(answer.status, start === undefined ? 200 : 206)
      t.equal(digest(answer.bytes), digest(content.subarray(start ?? 0, end)), `bytes ${start} to ${end}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => caller(index + 1)))
})

t.test('a copy of a large object', async (t) => {
  const bytes = randomBytes(5 * mebibyte)
  const common = { size: mebibyte, delay: 0 }
  const json = { 'Content-Type': 'application/json' }
  await exchange({ method: 'POST', path: '/object/b/source', body: bytes, ...common })
  const copy = Buffer.from(JSON.stringify({ bucketId: 'b', sourceKey: 'source', destinationKey: 'copy' }))
  t.equal((await exchange({ method: 'POST', path: '/object/copy', headers: json, body: copy, ...common }))?.status, 200)
  for (const name of ['copy', 'source']) {
    const answer = await exchange({ method: 'GET', path: `/object/b/${name}`, ...common })
    t.ok(answer?.bytes.equals(bytes), name)
  }
})
