// Storage at `/storage/v1`: requests a second of small objects, the speed of large ones, and what uploads do to reads.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { s3Credentials, startS3 } from '../support/s3-server.ts'
import { serviceToken, type Dataset } from './dataset.ts'
import type { LoadGenerator, Played } from './load.ts'
import type { Options } from './options.ts'
import { usageOf } from './process-usage.ts'
import type { BenchRequest } from './request.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { measureSlowdown, slowdownLine } from './slowdown.ts'
import { chosenWorkloads } from './workloads.ts'

type Context = {
  readonly startWith: (env: Readonly<Record<string, string>>) => Promise<Server>
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

/** Of one place for bytes. */
export type StorageResults = {
  readonly backend: 'file' | 's3'
  /** Requests a second, medians. */
  readonly downloads: number
  readonly uploads: number
  /** MB a second of one large object. */
  readonly largeUpload: number
  readonly largeDownload: number
  /** Bytes, while large objects were streamed. */
  readonly peakBytes: number | undefined
  /** 99th percentile of reads during uploads and downloads, as a ratio to that without. */
  readonly readsSlowdown: number
}

const goals = { downloads: 3000, uploads: 500, readsSlowdown: 2, peakMebibytes: 160 }
const smallBytes = 10 * 1024
const bucket = 'bench'
/** Clients that upload and download while reads are measured. */
const clients = 4

const small = randomBytes(smallBytes / 2).toString('hex')
const authorization = { Authorization: `Bearer ${serviceToken()}` }

const names = Array.from({ length: 100 }, (_, index) => `small/${index}.txt`)
const downloads = names.map((name): BenchRequest => ({
  method: 'GET',
  path: `/storage/v1/object/public/${bucket}/${name}`,
  headers: {},
  body: undefined,
}))
const uploads = names.map((name): BenchRequest => ({
  method: 'POST',
  path: `/storage/v1/object/${bucket}/${name}`,
  headers: { ...authorization, 'Content-Type': 'text/plain', 'x-upsert': 'true' },
  body: small,
}))

/** Runs all measurements with both backends, and prints each with its target. */
export async function measureStorage(context: Context): Promise<readonly StorageResults[]> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-bench-storage-'))
  const s3 = await startS3({ teardown: () => undefined })
  try {
    const unlimited = { FILE_SIZE_LIMIT: String(8 * 1024 ** 3) }
    return [
      await measureBackend(context, 'file', { ...unlimited, STORAGE_FILE_BACKEND_PATH: folder }),
      await measureBackend(context, 's3', {
        ...unlimited,
        ...s3Credentials,
        STORAGE_BACKEND: 's3',
        STORAGE_S3_BUCKET: s3.bucket,
        STORAGE_S3_ENDPOINT: s3.endpoint,
        STORAGE_S3_REGION: 'eu-central-1',
      }),
    ]
  } finally {
    await s3.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measureBackend(
  { startWith, dataset, generator, options, print }: Context,
  backend: StorageResults['backend'],
  env: Readonly<Record<string, string>>,
): Promise<StorageResults> {
  const server = await startWith(env)
  const { connections, seconds, rounds, quick } = options
  const root = new URL('/', server.url)
  await ask(root, '/storage/v1/bucket', { name: bucket, public: true }, [200, 409, 400])
  const play = (url: URL, requests: readonly BenchRequest[]): Promise<Played> =>
    generator.play({ url, requests, connections, seconds })
  const rates = { downloads: [] as number[], uploads: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.uploads.push(rate(await play(root, uploads)))
    rates.downloads.push(rate(await play(root, downloads)))
  }
  const [uploadRate = 0, downloadRate = 0] = [median(rates.uploads), median(rates.downloads)]
  print(`${backend}: downloads of 10 KiB: ${downloadRate.toFixed(0)} requests/s (goal: ${goals.downloads})`)
  print(`${backend}: uploads of 10 KiB: ${uploadRate.toFixed(0)} requests/s (goal: ${goals.uploads})`)

  const large = await streamLarge(root, quick ? 128 : 1024)
  const peakBytes = (await usageOf(server.pid))?.peakBytes
  const peak = peakBytes === undefined ? 'unknown' : `${(peakBytes / 1024 ** 2).toFixed(0)} MiB`
  print(
    `${backend}: a large object: ${large.up.toFixed(0)} MB/s up, ${large.down.toFixed(0)} MB/s down, ` +
      `peak memory ${peak} (goal: ${goals.peakMebibytes} MiB)`,
  )

  const [workload] = chosenWorkloads(['one-row'])
  const requests = workload?.requests(dataset) ?? []
  const transfers = uploads.flatMap((upload, index) => [upload, ...downloads.slice(index, index + 1)])
  const load = { origin: root.origin, requests: transfers, clients }
  const slowdown = await measureSlowdown(() => play(server.url, requests), load, { rounds })
  print(`${backend}: ${slowdownLine(slowdown, 'uploads and downloads', goals.readsSlowdown)}`)
  await server.stop()
  return {
    backend,
    downloads: downloadRate,
    uploads: uploadRate,
    largeUpload: large.up,
    largeDownload: large.down,
    peakBytes,
    readsSlowdown: slowdown.ratio,
  }
}

/**
 * Uploads and downloads one object without holding it in memory.
 *
 * @returns MB a second
 * @throws Error if it comes back changed
 */
async function streamLarge(root: URL, mebibytes: number): Promise<{ readonly up: number; readonly down: number }> {
  const part = randomBytes(1024 ** 2)
  const sent = createHash('md5')
  function* parts(): Generator<Buffer> {
    for (let index = 0; index < mebibytes; index++) {
      sent.update(part)
      yield part
    }
  }
  const url = new URL(`/storage/v1/object/${bucket}/large.bin`, root)
  const uploading = performance.now()
  const put = await fetch(url, {
    method: 'PUT',
    headers: { ...authorization, 'Content-Type': 'application/octet-stream' },
    body: Readable.toWeb(Readable.from(parts())) as ReadableStream,
    duplex: 'half',
  })
  if (put.status !== 200) throw new Error(`a large upload got ${put.status}: ${await put.text()}`)
  await put.arrayBuffer()
  const downloading = performance.now()
  const received = createHash('md5')
  const got = await fetch(url, { headers: authorization })
  for await (const chunk of got.body ?? []) received.update(chunk as Uint8Array)
  const end = performance.now()
  if (received.digest('hex') !== sent.digest('hex')) throw new Error('a large object came back changed')
  const speed = (milliseconds: number): number => (mebibytes * 1024 ** 2) / 1000 / milliseconds
  return { up: speed(downloading - uploading), down: speed(end - downloading) }
}

/** @throws Error if the response has another status than these */
async function ask(root: URL, path: string, body: object, statuses: readonly number[]): Promise<void> {
  const response = await fetch(new URL(path, root), {
    method: 'POST',
    headers: { ...authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!statuses.includes(response.status)) throw new Error(`${path} got ${response.status}: ${text}`)
}

/** @throws Error if a request was refused: the rate would be that of errors */
function rate({ requests, seconds, refused, broken }: Played): number {
  if (refused + broken > 0) throw new Error(`${refused} requests were refused, and ${broken} broken`)
  return requests / seconds
}
