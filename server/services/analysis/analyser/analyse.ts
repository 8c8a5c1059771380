// Analyses the bytes of an image.
import type { Box } from './box.ts'
import { loadClassifier, type Classifier } from './classifier.ts'
import { colourIndexSide, greenCover } from './colour-index.ts'
import { loadDetector, type Detector } from './detector.ts'
import { decodeImage, type Pixels } from './image.ts'
import type { AnalyserOptions, Analysis, ModelState, ModelStates } from './message.ts'
import { baselineVerdict, modelVerdict, type Verdict } from './verdict.ts'
import { basename, dirname, resolve, sep } from 'node:path'

export type Analyse = (image: Uint8Array) => Promise<Analysis>

/** Version of the baseline. States that it does not recognise species. */
const baselineVersion = 'colour-index-baseline/1 (green cover, not species)'
const longestVersion = 100

type Found = {
  readonly verdict: Verdict
  /** In pixels of the analysed image. */
  readonly boxes: readonly Box[]
}
type Method = {
  readonly name: Analysis['method']
  readonly version: string
  /** Pixels of the longer side that images are scaled down to. */
  readonly side: number
  readonly find: (pixels: Pixels) => Promise<Found>
}

/**
 * Loads the configured models.
 *
 * @returns the states of the models, and a function that analyses images with them; it throws ImageError for an invalid
 *   image
 */
export async function loadAnalysis(
  options: AnalyserOptions,
): Promise<{ readonly models: ModelStates; readonly analyse: Analyse }> {
  const classifier = await load(options.classifier, (path) => loadClassifier(path, options.threads))
  const detector = await load(options.detector, (path) => loadDetector(path, options.threads))
  const hasFailed = classifier.state.kind === 'failed' || detector.state.kind === 'failed'
  const isConfigured = classifier.state.kind !== 'not configured' || detector.state.kind !== 'not configured'
  const method = isConfigured ? withModels(classifier.model, detector.model) : baseline
  return {
    models: { classifier: classifier.state, detector: detector.state },
    analyse: async (image) => {
      // An analysis with only one of two configured models would be incomplete.
      if (hasFailed) throw new Error('a configured model is not loaded')
      return analyse(image, method, options.pixelLimit)
    },
  }
}

async function load<T>(
  path: string | null,
  loader: (path: string) => Promise<T>,
): Promise<{ readonly state: ModelState; readonly model?: T }> {
  if (path === null) return { state: { kind: 'not configured' } }
  const file = basename(path)
  try {
    return { state: { kind: 'loaded', file }, model: await loader(path) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Messages of file system errors contain the whole path.
    const reason = code?.startsWith('E') === true ? `it cannot be read (${code})` : withoutFolder(textOf(error), path)
    return { state: { kind: 'failed', file, reason } }
  }
}

/** A message without the folder of the model, in which the runtime also looks for weights in other files. */
function withoutFolder(message: string, path: string): string {
  const folders = [resolve(dirname(path)), dirname(path)].filter((folder) => folder.length > 1)
  return folders.reduce((text, folder) => text.replaceAll(folder + sep, ''), message.replaceAll(path, basename(path)))
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function analyse(image: Uint8Array, method: Method, pixelLimit: number): Promise<Analysis> {
  const start = performance.now()
  const { width, height, pixels } = await decodeImage(image, pixelLimit, method.side)
  const decoded = performance.now()
  const { verdict, boxes } = await method.find(pixels)
  const [across, down] = [width / pixels.width, height / pixels.height]
  return {
    width,
    height,
    ...verdict,
    boxes: boxes.map(({ x1, y1, x2, y2, confidence }) => ({
      x1: x1 * across,
      y1: y1 * down,
      x2: x2 * across,
      y2: y2 * down,
      confidence,
    })),
    method: method.name,
    modelVersion: method.version,
    decodeMilliseconds: decoded - start,
    inferenceMilliseconds: performance.now() - decoded,
  }
}

const baseline: Method = {
  name: 'colour-index',
  version: baselineVersion,
  side: colourIndexSide,
  find: (pixels) => {
    const cover = greenCover(pixels)
    return Promise.resolve({ verdict: baselineVerdict(cover), boxes: cover.boxes })
  },
}

const withModels = (classifier: Classifier | undefined, detector: Detector | undefined): Method => ({
  name: 'onnx',
  version: [classifier?.version, detector?.version]
    .filter((version) => version !== undefined)
    .join(' + ')
    .slice(0, longestVersion),
  side: Math.max(classifier?.side ?? 0, detector?.side ?? 0),
  find: async (pixels) => {
    const classified = classifier && {
      probability: await classifier.probability(pixels),
      threshold: classifier.threshold,
    }
    const detection = await detector?.detect(pixels)
    return { verdict: modelVerdict(classified, detection), boxes: detection?.boxes ?? [] }
  },
})
