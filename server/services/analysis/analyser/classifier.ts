// A classifier: how probable it is that an image shows water hyacinth.
import { centre, type Pixels } from './image.ts'
import { positiveClasses } from './model-description.ts'
import { loadSession } from './session.ts'

export type Classifier = {
  readonly file: string
  readonly version: string
  /** Pixels of the longer side that images should have. */
  readonly side: number
  /** The probability from which on the answer is yes. */
  readonly threshold: number
  /** From 0 to 1. */
  readonly probability: (pixels: Pixels) => Promise<number>
}

const defaultThreshold = 0.5
const defaultSide = 224
/** A square in the middle is looked at: of an image of usual proportions, at least half. */
const sideFactor = 2

/**
 * Loads a classifier, and runs it once, to see that its output is one that can be read.
 *
 * @throws Error that says why it cannot be used
 */
export async function loadClassifier(path: string, threads: number): Promise<Classifier> {
  const session = await loadSession(path, 'classify', threads)
  const { inputSize, description } = session
  const height = inputSize[0] ?? description.size?.[0] ?? defaultSide
  const width = inputSize[1] ?? description.size?.[1] ?? defaultSide
  const { dims } = await session.run({ width, height, data: new Uint8Array(3 * width * height) })
  const [batch, classes = 0, ...more] = dims
  if (batch !== 1 || classes < 2 || more.some((side) => side !== 1)) {
    throw new Error(`its output has the shape [${dims.join(',')}], not [1,classes] with two classes or more`)
  }
  const positive = positiveClasses(description, classes)
  return {
    file: session.file,
    version: session.version,
    side: sideFactor * Math.max(width, height),
    threshold: description.threshold ?? defaultThreshold,
    probability: async (pixels) => {
      const { data } = await session.run(await centre(pixels, width, height))
      const probabilities = softmax([...data])
      return Math.min(
        1,
        positive.reduce((sum, index) => sum + (probabilities[index] ?? 0), 0),
      )
    },
  }
}

/**
 * Makes probabilities of scores; what are probabilities already stays.
 *
 * @throws Error when a score is no number: such an output must not pass as a low probability
 */
export function softmax(scores: readonly number[]): readonly number[] {
  const bad = scores.find((score) => !Number.isFinite(score))
  if (bad !== undefined) throw new Error(`the model answered with a score of ${bad}`)
  const total = scores.reduce((sum, score) => sum + score, 0)
  if (Math.abs(total - 1) < 1e-3 && scores.every((score) => score >= 0)) return scores
  const highest = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - highest))
  const sum = powers.reduce((all, power) => all + power, 0)
  return powers.map((power) => power / sum)
}
