// A detector: finds boxes around objects.
import { clipped, suppressed, type Box } from './box.ts'
import { layoutOf, readDetections } from './detector-output.ts'
import { resized, type Pixels } from './image.ts'
import { positiveClasses } from './model-description.ts'
import { loadSession, type LoadedModel, type ModelSession } from './session.ts'

export type Detection = {
  /** In pixels of the image, the highest confidence first. */
  readonly boxes: readonly Box[]
  /** The highest confidence, even if it is below the minimum confidence of boxes. */
  readonly highest: number
}

export type Detector = LoadedModel & {
  readonly detect: (pixels: Pixels) => Promise<Detection>
}

/** Default minimum confidence of a box, which the model's JSON file can change. */
const defaultThreshold = 0.25
/** Boxes that overlap by more than this are the same object. */
const suppression = 0.45
const mostBoxes = 300
/** Grey value of the padding around the image, as in training. */
const padding = 114

/**
 * Loads a detector and runs it once to check the format of its output.
 *
 * @throws Error that says why it cannot be used
 */
export async function loadDetector(path: string, threads: number): Promise<Detector> {
  const session = await loadSession(path, 'detect', threads)
  const { stride, threshold = defaultThreshold } = session.description
  const [height, width] = sidesOf(session)
  const blank = { width, height, data: new Uint8Array(3 * width * height).fill(padding) }
  const layout = layoutOf((await session.run(blank)).dims, width, height, stride)
  const { names } = session.description
  if (layout.kind === 'end-to-end' && names === undefined) {
    throw new Error('it has no class names: list them as "names" in its JSON file')
  }
  const count = layout.kind === 'end-to-end' ? (names ?? []).length : layout.classes
  const classes = positiveClasses(session.description, count)
  return {
    file: session.file,
    version: session.version,
    side: Math.max(width, height),
    detect: async (pixels) => {
      const scale = Math.min(width / pixels.width, height / pixels.height)
      const [inner, outer] = letterbox(pixels, scale, session.inputSize, stride)
      const placed = await resized(pixels, inner.width, inner.height)
      const output = await session.run(padded(placed, outer))
      const current = layoutOf(output.dims, outer.width, outer.height, stride)
      const { boxes, highest } = readDetections(output, current, { classes, count, threshold })
      const kept = suppressed(boxes, layout.kind === 'end-to-end' ? Infinity : suppression, mostBoxes)
      const left = Math.floor((outer.width - inner.width) / 2)
      const top = Math.floor((outer.height - inner.height) / 2)
      const original = kept.flatMap(({ x1, y1, x2, y2, confidence }): Box[] => {
        const across = (x: number): number => ((x - left) / inner.width) * pixels.width
        const down = (y: number): number => ((y - top) / inner.height) * pixels.height
        const corners = { x1: across(x1), y1: down(y1), x2: across(x2), y2: down(y2), confidence }
        const inside = clipped(corners, pixels.width, pixels.height)
        return inside ? [inside] : []
      })
      // Boxes outside of the image do not count.
      return { boxes: original, highest: original[0]?.confidence ?? Math.min(highest, threshold) }
    },
  }
}

type Size = { readonly width: number; readonly height: number }

/** @throws Error when neither the model nor its description defines the size of the input */
function sidesOf({ inputSize, description }: ModelSession): readonly [height: number, width: number] {
  const [height, width] = [inputSize[0] ?? description.size?.[0], inputSize[1] ?? description.size?.[1]]
  if (height === undefined || width === undefined) {
    throw new Error('its input has no fixed size: set one as "imgsz" in its JSON file')
  }
  return [height, width]
}

/**
 * The scaled size of an image that keeps its proportions, and the size of the whole input, each side of which is fixed or a
 * multiple of the stride.
 */
function letterbox(
  image: Size,
  scale: number,
  [height, width]: ModelSession['inputSize'],
  stride: number,
): readonly [inner: Size, outer: Size] {
  const inner = {
    width: Math.max(1, Math.round(image.width * scale)),
    height: Math.max(1, Math.round(image.height * scale)),
  }
  const whole = (side: number): number => Math.ceil(side / stride) * stride
  return [inner, { width: width ?? whole(inner.width), height: height ?? whole(inner.height) }]
}

/** The image, centred on a grey background. */
function padded({ width, height, data }: Pixels, outer: Size): Pixels {
  if (width === outer.width && height === outer.height) return { width, height, data }
  const left = Math.floor((outer.width - width) / 2)
  const top = Math.floor((outer.height - height) / 2)
  const canvas = new Uint8Array(3 * outer.width * outer.height).fill(padding)
  for (let y = 0; y < height; y++) {
    canvas.set(data.subarray(3 * y * width, 3 * (y + 1) * width), 3 * ((y + top) * outer.width + left))
  }
  return { ...outer, data: canvas }
}
