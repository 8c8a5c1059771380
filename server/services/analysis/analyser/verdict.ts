// What is said about an image, from what the models or the baseline have found in it.
import type { Analysis } from './message.ts'
import type { Detection } from './detector.ts'
import type { GreenCover } from './colour-index.ts'

export type Verdict = Pick<Analysis, 'classification' | 'confidence' | 'probability' | 'threshold'>

/** A probability this close to the threshold decides nothing. */
const margin = 0.1
/** Confidence of a box from which on a detector alone decides, or contradicts a classifier. */
const certainBox = 0.5

const review = (confidence: number): Pick<Verdict, 'classification' | 'confidence'> => ({
  classification: 'needs_review',
  confidence,
})

/**
 * The classifier decides, where there is one. It needs a review when its probability is close to the threshold, or when
 * it denies what the detector has found. A detector alone says yes to a confident box, no where it has found none, and
 * leaves what lies between to a review.
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

/** Without green there is no water hyacinth; what the green is, the baseline cannot tell. */
export function baselineVerdict({ share, boxes }: GreenCover): Verdict {
  const unknown = { probability: null, threshold: null }
  return boxes.length > 0
    ? { ...review(0.5), ...unknown }
    : { classification: 'non_water_hyacinth', confidence: 1 - share, ...unknown }
}
