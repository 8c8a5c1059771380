// Decides the classification of an image by the results of the models or the baseline.
import type { Analysis } from './message.ts'
import type { Detection } from './detector.ts'
import type { GreenCover } from './colour-index.ts'

export type Verdict = Pick<Analysis, 'classification' | 'confidence' | 'probability' | 'threshold'>

/** A probability this close to the threshold needs a review. */
const margin = 0.1
/** Minimum confidence of a box for a detector to decide alone, or to contradict a classifier. */
const certainBox = 0.5

const review = (confidence: number): Pick<Verdict, 'classification' | 'confidence'> => ({
  classification: 'needs_review',
  confidence,
})

/**
 * The classifier decides, if there is one. The image needs a review when its probability is close to the threshold, or
 * when it contradicts the detector. A detector alone is positive with a confident box, negative without a box, and needs a
 * review in between.
 *
 * @param classified undefined without a classifier
 * @param detection undefined without a detector
 */
export function modelVerdict(
  classified: { readonly probability: number; readonly threshold: number } | undefined,
  detection: Detection | undefined,
): Verdict {
  const probability = classified?.probability ?? detection?.highest ?? 0
  const threshold = classified?.threshold ?? certainBox
  const confidence = Math.max(probability, 1 - probability)
  const isCertain = classified
    ? Math.abs(probability - threshold) >= margin
    : probability >= threshold || detection?.boxes.length === 0
  const isDenied = probability < threshold && detection !== undefined && detection.highest >= certainBox
  if (!isCertain || isDenied) return { ...review(confidence), probability, threshold }
  return probability >= threshold
    ? { classification: 'water_hyacinth', confidence: probability, probability, threshold }
    : { classification: 'non_water_hyacinth', confidence: 1 - probability, probability, threshold }
}

/**
 * Without green there is no water hyacinth. Green needs a review, because the baseline does not recognise species; so does
 * an image without colours, which cannot show any green.
 */
export function baselineVerdict({ share, boxes, hasColour }: GreenCover): Verdict {
  const unknown = { probability: null, threshold: null }
  return boxes.length > 0 || !hasColour
    ? { ...review(0.5), ...unknown }
    : { classification: 'non_water_hyacinth', confidence: 1 - share, ...unknown }
}
