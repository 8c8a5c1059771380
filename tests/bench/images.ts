// The image analysis: time per image, the effect of uploads on reads, and memory over many images.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { nanoNames, nanoShapedDetector } from '../support/models.ts'
import { writeOnnx } from '../support/onnx.ts'
import { noise, picture, plants, water } from '../support/test-image.ts'
import type { BackgroundRequest } from './background-clients.ts'
import type { Dataset } from './dataset.ts'
import type { LoadGenerator, Played } from './load.ts'
import type { Options } from './options.ts'
import { usageOf } from './process-usage.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { measureSlowdown, slowdownLine } from './slowdown.ts'
import { growthOf } from './soak.ts'
import { chosenWorkloads } from './workloads.ts'

/** Starts this server with these settings. */
export type StartWith = (env: Readonly<Record<string, string>>) => Promise<Server>

type Context = {
  readonly startWith: StartWith
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

export type ImageResults = {
  /** Milliseconds from request to response, medians. */
  readonly baseline: number | undefined
  readonly detector: number | undefined
  /** 99th percentile of reads during uploads, as a ratio to that without uploads. */
  readonly readsSlowdown: number
  /** Growth of the memory of all processes over the images. */
  readonly memoryGrowth: number | undefined
}

const goals = { baseline: 150, detector: 120, readsSlowdown: 1.5, memoryGrowth: 1.1 }
const repetitions = 20
/** Concurrent uploads that keep the analyser busy. */
const uploaders = 4

/** Settings under which no upload is refused. */
const unlimited = { IMAGE_RATE_LIMIT: '1000000', IMAGE_TIMEOUT: '60' }

/** Twelve megapixels with as much detail as a photograph. */
const photograph = (): Promise<Buffer> => noise(800, 600).blur(1.5).resize(4000, 3000).jpeg({ quality: 90 }).toBuffer()

const uploadOf = (image: Uint8Array): BackgroundRequest & { readonly body: Uint8Array<ArrayBuffer> } => ({
  method: 'POST',
  path: '/api/v1/water-hyacinth/predict',
  headers: { 'Content-Type': 'image/jpeg' },
  body: new Uint8Array(image),
})

async function predict({ url }: Server, image: Uint8Array): Promise<number> {
  const start = performance.now()
  const { path, ...request } = uploadOf(image)
  const response = await fetch(new URL(path, url), request)
  if (response.status !== 200) throw new Error(`an image got ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
  return performance.now() - start
}

async function medianTime(server: Server, image: Uint8Array): Promise<number | undefined> {
  const times: number[] = []
  for (let index = 0; index < repetitions; index++) times.push(await predict(server, image))
  return median(times.slice(repetitions / 4))
}

/** Runs all measurements, and prints each with its target. */
export async function measureImages({ startWith, dataset, generator, options, print }: Context): Promise<ImageResults> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-bench-images-'))
  try {
    const photo = await photograph()
    print(`a photograph of 12 megapixels, ${(photo.length / 1e6).toFixed(1)} MB`)
    const plain = await startWith(unlimited)
    const baseline = await medianTime(plain, photo)
    print(`without a model: ${baseline?.toFixed(0)} ms (goal: ${goals.baseline})`)

    const path = await writeOnnx(join(folder, 'nano.onnx'), nanoShapedDetector(), { names: nanoNames, task: 'detect' })
    const withModel = await startWith({ ...unlimited, IMAGE_DETECTOR: path })
    const square = await sharp(photo).resize(640, 640, { fit: 'fill' }).jpeg().toBuffer()
    const detector = await medianTime(withModel, square)
    print(`a detector of the size of YOLOv8n, 640 x 640: ${detector?.toFixed(0)} ms (goal: ${goals.detector})`)
    await withModel.stop()

    const [workload] = chosenWorkloads(['one-row'])
    const requests = workload?.requests(dataset) ?? []
    const read = (): Promise<Played> =>
      generator.play({ url: plain.url, requests, connections: options.connections, seconds: options.seconds })
    const load = { origin: plain.url.origin, requests: [uploadOf(photo)], clients: uploaders }
    const slowdown = await measureSlowdown(read, load, { rounds: options.rounds })
    print(slowdownLine(slowdown, 'uploads', goals.readsSlowdown))

    const small = await picture(1600, 1200, water, [plants, 400, 300, 500, 500]).jpeg().toBuffer()
    const total = options.quick ? 400 : 2000
    const memory: number[] = []
    for (let done = 1; done <= total; done++) {
      await predict(plain, done % 10 === 0 ? photo : small)
      if (done % (total / 40) === 0) memory.push((await usageOf(plain.pid))?.residentBytes ?? 0)
    }
    const memoryGrowth = growthOf(memory)
    print(
      `memory over ${total} images: ${((memory.at(-1) ?? 0) / 2 ** 20).toFixed(0)} MiB, ` +
        `${memoryGrowth?.toFixed(2)} times that of the second quarter (goal: ${goals.memoryGrowth})`,
    )
    return { baseline, detector, readsSlowdown: slowdown.ratio, memoryGrowth }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
