// A classifier: estimates the probability that an image shows water hyacinth.
import { centre, type Pixels } from './image.ts'
import { positiveClasses } from './model-description.ts'
import { loadSession, type LoadedModel } from './session.ts'

export type Classifier = LoadedModel & {
  /** The lowest probability that counts as positive. */
  readonly threshold: number
  /** From 0 to 1. */
  readonly probability: (pixels: Pixels) => Promise<number>
}

const defaultThreshold = 0.5
const defaultSide = 224
/** The classifier sees a square from the middle: at least half of an image with usual proportions. */
const sideFactor = 2

/**
 * Loads a classifier and runs it once to check the format of its output.
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
 * Converts scores to probabilities. Returns probabilities unchanged.
 *
 * @throws Error when a score is not a number, which must not pass as a low probability
 */
export function softmax(scores: readonly number[]): readonly number[] {
  const bad = scores.find((score) => !Number.isFinite(score))
  if (bad !== undefined) throw new Error(`the model returned the score ${bad}`)
  const total = scores.reduce((sum, score) => sum + score, 0)
  if (Math.abs(total - 1) < 1e-3 && scores.every((score) => score >= 0)) return scores
  const highest = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - highest))
  const sum = powers.reduce((all, power) => all + power, 0)
  return powers.map((power) => power / sum)
}
