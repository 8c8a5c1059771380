// Images arrive as they were sent: many callers, hostile cuts.
import { createHash, randomBytes } from 'node:crypto'
import { request as send, type OutgoingHttpHeaders } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { BodyBudget } from '../../../server/rest/request/body-budget.ts'
import { readUpload } from '../../../server/services/analysis/upload.ts'
import { listen } from '../../support/listening.ts'
import { seededRandom, testSeed, type Random } from '../../support/seeded-random.ts'

const mebibyte = 1024 * 1024
const settings = {
  ...{ fileLimit: 4 * mebibyte, bodyLimit: 16 * mebibyte, batchLimit: 16, acceptsSingle: true },
  names: new Set(['file', 'files']),
  budget: new BodyBudget({ limit: 256 * mebibyte, maxWait: 60_000, exhausted: () => new Error('exhausted') }),
}

const digest = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex')

/** Responds with the digests of the images, and of what a middleware has read. */
const address = await listen(t, (request, response) => {
  const whole: Buffer[] = []
  if (request.headers['x-tap'] === 'yes') request.on('data', (chunk: Buffer) => whole.push(chunk))
  readUpload(request, settings)
    .then(({ images, release }) => {
      const digests = images.map(({ bytes }) => bytes && digest(bytes))
      release()
      response.end(JSON.stringify({ digests, tapped: digest(Buffer.concat(whole)) }))
    })
    .catch((error: unknown) => response.writeHead(500).end(String(error)))
})

type Answer = {
  readonly digests: readonly (string | null)[]
  readonly tapped: string
}

/** Sends a body, cut into pieces of these sizes. */
function post(body: Buffer, headers: OutgoingHttpHeaders, nextSize: () => number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(address, { method: 'POST', headers, agent: false }, (response) => {
      const texts: Buffer[] = []
      response.on('data', (text: Buffer) => texts.push(text)).on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(texts).toString()
        if (response.statusCode === 200) resolve(JSON.parse(text) as Answer)
        else reject(new Error(text))
      })
    })
    request.on('error', reject)
    const write = async (): Promise<void> => {
      for (let start = 0; start < body.length;) {
        const end = start + nextSize()
        request.write(body.subarray(start, end))
        await turn()
        start = end
      }
      request.end()
    }
    write().catch(reject)
  })
}

/** Bytes that contain beginnings of the boundary, so that the parser has to look twice, but not the whole. */
function fileOf(random: Random, boundary: string): Buffer {
  const bytes = randomBytes(random.pick([0, 1, 100, 16 * 1024, 64 * 1024, 300_000, random.below(3 * mebibyte)]))
  const trap = `\r\n--${boundary}`
  for (let count = random.below(20); count > 0 && bytes.length > 200; count--) {
    bytes.write(trap.slice(0, random.below(trap.length)), random.below(bytes.length - 100))
  }
  for (let found = bytes.indexOf(trap); found >= 0; found = bytes.indexOf(trap))
    bytes.write('y', found + trap.length - 2)
  return bytes
}

t.test('forms of many callers', async (t) => {
  const random = seededRandom(testSeed(14))
  const one = async (): Promise<void> => {
    const boundary = `x${random.below(10)}`
    const files = random.some(1, 4, () => fileOf(random, boundary))
    const parts = files.flatMap((file, index) => [
      ...(random.chance(0.5)
        ? [`--${boundary}\r\nContent-Disposition: form-data; name="t${index}"\r\n\r\ntext\r\n`]
        : []),
      `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${index}"\r\n\r\n`,
      file,
      '\r\n',
    ])
    const body = Buffer.concat([...parts, `--${boundary}--\r\n`].map((part) => Buffer.from(part as string)))
    const largest = random.pick([1000, 16 * 1024, 64 * 1024, 70_000, mebibyte, 8 * mebibyte])
    const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}`, 'Content-Length': `${body.length}` }
    const { digests } = await post(body, headers, () => 1 + random.below(largest))
    t.strictSame(digests, files.map(digest))
  }
  for (let round = 0; round < 15; round++) await Promise.all(random.some(1, 8, one))
})

t.test('raw images of many callers', async (t) => {
  const random = seededRandom(testSeed(15))
  const one = async (): Promise<void> => {
    const body = randomBytes(random.below(3 * mebibyte))
    const largest = random.pick([1000, 64 * 1024, mebibyte, 8 * mebibyte])
    const length = random.chance(0.5) ? { 'Content-Length': `${body.length}` } : {}
    const answer = await post(body, { 'Content-Type': 'image/png', ...length }, () => 1 + random.below(largest))
    t.strictSame(answer.digests, [digest(body)])
  }
  for (let round = 0; round < 15; round++) await Promise.all(random.some(1, 8, one))
})

t.test('a middleware reads the same chunks', async (t) => {
  const image = randomBytes(mebibyte)
  const boundary = 'x'
  const form = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`),
    image,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  for (const [type, body] of [
    ['image/png', image],
    [`multipart/form-data; boundary=${boundary}`, form],
  ] as const) {
    const headers = { 'Content-Type': type, 'X-Tap': 'yes' }
    const answer = await post(body, headers, () => mebibyte)
    t.strictSame(answer.digests, [digest(image)])
    t.equal(answer.tapped, digest(body))
  }
})
