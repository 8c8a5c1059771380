// One frame of live detection: turns `{frame_id?, image_base64}` into a prediction or an error.
import { readJsonBytes } from '../../text/json-text.ts'
import { decodeBase64Image } from './base64-image.ts'
import { predictionOf, type PredictionResponse } from './prediction.ts'
import type { Predictor } from './predictor.ts'
import { internalError, problemOf } from './problem.ts'

export type FrameAnswer =
  | (PredictionResponse & { readonly frame_id: unknown })
  | { readonly frame_id: unknown; readonly detail: unknown; readonly status_code?: number }

export type FrameSettings = {
  readonly predictor: Predictor
  /** Counts the frame. @throws Problem 429 */
  readonly count: () => Promise<void>
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}

/** More than a frame has; see `readJsonBytes`. */
const mostSigns = 1000
/** Maximum length of a frame's id as JSON. The reply leaves out longer ones. */
const longestId = 200

/** Analyses a frame. Never rejects: errors become the reply. */
export async function answerFrame(message: Buffer, settings: FrameSettings): Promise<FrameAnswer> {
  const frame = frameIn(message)
  if (typeof frame === 'string') return { frame_id: null, detail: frame, status_code: 400 }
  const { frame_id: id, image_base64: encoded } = frame
  if (typeof encoded !== 'string' || encoded === '') return { frame_id: id, detail: 'image_base64 is required.' }
  try {
    await settings.count()
    const image = decodeBase64Image(encoded)
    await settings.predictor.requireUsable()
    const analysis = await settings.predictor.analyse({ name: '', ...image }, settings.signal)
    return { ...predictionOf(analysis), frame_id: id }
  } catch (error) {
    const problem = problemOf(error)
    if (!problem) settings.onError(error)
    const { status, detail } = problem ?? internalError()
    return { frame_id: id, detail, status_code: status }
  }
}

/** The status of an answer with an error; undefined for a prediction. */
export const errorOfFrame = (answer: FrameAnswer): string | undefined =>
  'detail' in answer ? String(answer.status_code ?? 400) : undefined

/** @returns what is wrong with a message that is no frame */
function frameIn(message: Buffer): { readonly frame_id: unknown; readonly image_base64: unknown } | string {
  const reading = readJsonBytes(message, mostSigns)
  if (reading.kind === 'fault' && reading.fault === 'has too many values') return 'The message has too many values.'
  const value = reading.kind === 'value' ? reading.value : undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'The message is not a JSON object.'
  const { frame_id = null, image_base64 } = value as { frame_id?: unknown; image_base64?: unknown }
  const isShort = (JSON.stringify(frame_id) ?? '').length <= longestId
  return { frame_id: isShort ? frame_id : null, image_base64 }
}
