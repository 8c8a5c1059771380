// The responses to an analysis.
import { unionArea } from './analyser/box.ts'
import type { Analysis, Classification } from './analyser/message.ts'

export type RiskLevel = 'NONE' | 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL'

/** `schemas/bounding-box.json` */
export type BoundingBox = {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
  readonly confidence: number
  readonly width: number
  readonly height: number
}

/** `schemas/prediction-response.json` */
export type PredictionResponse = {
  readonly classification: Classification
  readonly classification_confidence: number
  readonly detected_regions: number
  readonly coverage_percent: number
  readonly detection_confidence: number
  readonly risk_level: RiskLevel
  readonly image_width: number
  readonly image_height: number
  readonly boxes: readonly BoundingBox[]
  readonly model_version: string
  readonly method: Analysis['method']
  readonly result_label: string
  readonly recommendation: string
  readonly inference_ms: number
  readonly run_id?: string
}

/** `schemas/prediction-schema.json`: the older format. */
export type PredictionSchema = {
  readonly prediction: 'water_hyacinth' | 'not_water_hyacinth'
  readonly probability: number
  readonly confidence: number
  readonly threshold: number
  readonly inference_time_seconds: number
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))

/** Exclusive upper bounds of coverage in percent. */
const riskBounds = [
  [15, 'LOW'],
  [40, 'MEDIUM'],
  [70, 'HIGH'],
] as const

/** @param coverage percent, not rounded */
export function riskOf(coverage: number): RiskLevel {
  if (coverage === 0) return 'NONE'
  return riskBounds.find(([bound]) => coverage < bound)?.[1] ?? 'CRITICAL'
}

const labels = {
  water_hyacinth: 'Water Hyacinth',
  non_water_hyacinth: 'No Water Hyacinth',
  needs_review: 'Needs Review',
} satisfies Record<Classification, string>

const advice = {
  NONE: 'Water hyacinth was recognised, but no region of it. Take another picture from closer by.',
  LOW: 'Remove the plants by hand before they spread, and look again within a week.',
  MEDIUM: 'Report the place to the local authority and plan its removal.',
  HIGH: 'Report the place to the local authority without delay: the water is largely covered.',
  CRITICAL: 'Report the place to the local authority at once: the water is nearly closed.',
} satisfies Record<RiskLevel, string>

function recommendationFor({ classification, method, boxes }: Analysis, risk: RiskLevel): string {
  switch (classification) {
    case 'water_hyacinth':
      return advice[risk]
    case 'non_water_hyacinth':
      return 'No action is needed.'
    case 'needs_review':
      if (method === 'onnx') return 'The result is uncertain: have the image checked by a person who knows the plant.'
      return boxes.length === 0
        ? 'The image is too dark or without colours: take another picture in daylight.'
        : 'There is green cover, whose species was not examined: have the image checked by a person who knows the plant.'
    default:
      return classification satisfies never
  }
}

/** The response to an analysis. */
export function predictionOf(analysis: Analysis): PredictionResponse {
  const { width, height, boxes } = analysis
  const coverage = Math.min(100, (100 * unionArea(boxes)) / (width * height))
  const confidences = boxes.reduce((sum, { confidence }) => sum + confidence, 0)
  const risk = riskOf(coverage)
  return {
    classification: analysis.classification,
    classification_confidence: rounded(analysis.confidence, 4),
    detected_regions: boxes.length,
    coverage_percent: rounded(coverage, 1),
    detection_confidence: boxes.length === 0 ? 0 : rounded(confidences / boxes.length, 4),
    risk_level: risk,
    image_width: width,
    image_height: height,
    boxes: boxes.map(boundingBox),
    model_version: analysis.modelVersion,
    method: analysis.method,
    result_label: labels[analysis.classification],
    recommendation: recommendationFor(analysis, risk),
    inference_ms: rounded(analysis.inferenceMilliseconds, 1),
  }
}

function boundingBox({ x1, y1, x2, y2, confidence }: Analysis['boxes'][number]): BoundingBox {
  const [left, top, right, bottom] = [rounded(x1, 1), rounded(y1, 1), rounded(x2, 1), rounded(y2, 1)]
  return {
    x1: left,
    y1: top,
    x2: right,
    y2: bottom,
    confidence: rounded(confidence, 4),
    width: rounded(right - left, 1),
    height: rounded(bottom - top, 1),
  }
}

/** The same in the older format, which cannot express doubt: undefined for an image that needs a review. */
export function olderPredictionOf(analysis: Analysis): PredictionSchema | undefined {
  const { classification, confidence, decodeMilliseconds, inferenceMilliseconds } = analysis
  const threshold = analysis.threshold ?? 0.5
  if (classification === 'needs_review') return undefined
  // Without a model, the only confidence is that of the negative answer.
  const probability = analysis.probability ?? 1 - confidence
  const isPositive = probability >= threshold
  return {
    prediction: isPositive ? 'water_hyacinth' : 'not_water_hyacinth',
    probability: rounded(probability, 4),
    confidence: rounded(isPositive ? probability : 1 - probability, 4),
    threshold,
    inference_time_seconds: rounded((decodeMilliseconds + inferenceMilliseconds) / 1000, 4),
  }
}
