// Objects come back as they were sent, although the memory of their chunks is freed early: many callers at once, with slow
// ones and ones that disconnect.
import { createHash, randomBytes } from 'node:crypto'
import { request as send, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { seededRandom, testSeed, type Random } from '../support/seeded-random.ts'
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
    const random = seededRandom(testSeed(0) + seed)
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

/** Sends requests at once on one connection, and reads the bodies of the responses, slowly. */
async function pipelined(paths: readonly string[], delay: () => number): Promise<Buffer[]> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const heads = paths.map((path) => `GET /storage/v1${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  socket.write(heads.join(''))
  // Until the buffers of the operating system are full.
  await pause(delay() * 100)
  const bodies: Buffer[] = []
  let pieces: Buffer[] = []
  // Bytes that are missing before there is something to parse.
  let missing = 1
  for await (const piece of socket as AsyncIterable<Buffer>) {
    pieces.push(piece)
    missing -= piece.length
    let rest = missing > 0 ? Buffer.alloc(0) : Buffer.concat(pieces)
    while (missing <= 0) {
      const end = rest.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(rest.subarray(0, Math.max(end, 0)).toString())?.[1])
      missing = end < 0 ? 1 : end + 4 + length - rest.length
      if (missing <= 0) {
        bodies.push(rest.subarray(end + 4, end + 4 + length))
        rest = rest.subarray(end + 4 + length)
        missing = rest.length > 0 ? 0 : 1
      }
      pieces = [rest]
    }
    if (bodies.length === paths.length) break
    const time = delay()
    if (time > 0) await pause(time)
  }
  socket.destroy()
  return bodies
}

t.test('downloads that wait for each other on one connection', async (t) => {
  const random = seededRandom(testSeed(7))
  const sizes = [8 * mebibyte, 20_000, 40_000, 60_000, 66_000, 80_000, 150_000, mebibyte]
  const objects = await Promise.all(
    sizes.map(async (size, index) => {
      const bytes = randomBytes(size)
      await exchange({ method: 'POST', path: `/object/b/p${index}`, body: bytes, size: mebibyte, delay: 0 })
      return { path: `/object/public/b/p${index}`, digest: digest(bytes) }
    }),
  )
  const [first, ...others] = objects
  if (!first) throw new Error('there are no objects')
  const caller = async (): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      const asked = [first, ...random.some(2, 12, () => random.pick([first, ...others]))]
      const slow = random.chance(0.5)
      const bodies = await pipelined(
        asked.map(({ path }) => path),
        () => (slow ? random.pick([0, 0, 0, 3]) : 0),
      )
      t.strictSame(
        bodies.map((body) => digest(body)),
        asked.map((object) => object.digest),
      )
    }
  }
  await Promise.all(Array.from({ length: 4 }, caller))
})
