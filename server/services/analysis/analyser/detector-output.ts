// Converts the outputs of object detectors, whose layout follows from their shape, to lists of boxes.
// https://docs.ultralytics.com/modes/export/, https://github.com/ultralytics/yolov5/wiki
import type { Box } from './box.ts'
import type { Output } from './session.ts'

/**
 * - `dense`: `[1, 4 + classes, anchors]`, centre and size, requires non-maximum suppression (YOLOv8, 11)
 * - `objectness`: `[1, 3 * anchors, 5 + classes]`, the same with an objectness score (YOLOv5, 7)
 * - `end-to-end`: `[1, 300, 6]`, corners, confidence, class, requires no suppression (YOLOv10)
 */
export type Layout =
  | { readonly kind: 'dense'; readonly classes: number }
  | { readonly kind: 'objectness'; readonly classes: number }
  | { readonly kind: 'end-to-end' }

/** Rows of an end-to-end output. Exporters write 300. */
const mostRows = 1000

/** The number of grid cells of a detector up to this stride: every 8, 16 … pixels. */
export function anchorCount(width: number, height: number, stride: number): number {
  let count = 0
  for (let step = 8; step <= stride; step *= 2) count += Math.ceil(width / step) * Math.ceil(height / step)
  return count
}

/**
 * Determines the layout of an output by its shape.
 *
 * @throws Error when no layout matches for an input of this size
 */
export function layoutOf(dims: readonly number[], width: number, height: number, stride: number): Layout {
  const anchors = anchorCount(width, height, stride)
  const [batch, first = 0, second = 0] = dims
  if (dims.length === 3 && batch === 1) {
    if (second === anchors && first > 4) return { kind: 'dense', classes: first - 4 }
    if (first === 3 * anchors && second > 5) return { kind: 'objectness', classes: second - 5 }
    // With as many rows as anchors, it can also be a transposed dense output of two classes.
    if (second === 6 && first <= mostRows && first !== anchors) return { kind: 'end-to-end' }
  }
  throw new Error(
    `its output has the shape [${dims.join(',')}]; for an input of ${width} x ${height} pixels, ` +
      `[1,4+classes,${anchors}], [1,${3 * anchors},5+classes] or [1,300,6] is expected`,
  )
}

export type Selection = {
  /** Indices of the classes to return boxes of. */
  readonly classes: readonly number[]
  /** Number of all classes. */
  readonly count: number
  /** Minimum confidence of a box. */
  readonly threshold: number
}

export type Detections = {
  /** In pixels of the model's input. Boxes of the first two layouts overlap. */
  readonly boxes: readonly Box[]
  /** The highest confidence of the wanted classes, even if it is below the threshold. */
  readonly highest: number
}

/**
 * Reads the boxes of the wanted classes from an output.
 *
 * @throws Error when a confidence is not a number from 0 to 1, or a box has an unknown class or invalid coordinates, which
 *   must not pass as an output without boxes
 */
export function readDetections(output: Output, layout: Layout, selection: Selection): Detections {
  const boxes: Box[] = []
  let highest = 0
  const see: See = (confidence, corners) => {
    highest = Math.max(highest, Math.min(1, checked(confidence)))
    if (confidence < selection.threshold) return
    const box = { ...corners(), confidence: Math.min(1, confidence) }
    if (!Object.values(box).every(Number.isFinite)) throw new Error('the model returned a box with invalid coordinates')
    boxes.push(box)
  }
  readers[layout.kind](output, selection, see)
  return { boxes, highest }
}

/** Tolerance for scores of 16-bit models, which can be slightly above 1. */
const rounding = 1e-3

/** @throws Error unless the confidence is from 0 to 1 */
function checked(confidence: number): number {
  if (confidence >= 0 && confidence <= 1 + rounding) return confidence
  throw new Error(`the model returned the confidence ${confidence}`)
}

type See = (confidence: number, corners: () => Omit<Box, 'confidence'>) => void
type Reader = ({ dims, data }: Output, selection: Selection, see: See) => void

const around = (x: number, y: number, width: number, height: number): Omit<Box, 'confidence'> => ({
  x1: x - width / 2,
  y1: y - height / 2,
  x2: x + width / 2,
  y2: y + height / 2,
})

const readers = {
  dense: ({ dims, data }, { classes }, see) => {
    const anchors = dims[2] ?? 0
    for (let anchor = 0; anchor < anchors; anchor++) {
      const at = (row: number): number => data[row * anchors + anchor] ?? NaN
      for (const index of classes) see(at(4 + index), () => around(at(0), at(1), at(2), at(3)))
    }
  },
  objectness: ({ dims, data }, { classes }, see) => {
    const [, rows = 0, columns = 0] = dims
    for (let row = 0; row < rows; row++) {
      const at = (column: number): number => data[row * columns + column] ?? NaN
      const objectness = checked(at(4))
      for (const index of classes) see(objectness * checked(at(5 + index)), () => around(at(0), at(1), at(2), at(3)))
    }
  },
  'end-to-end': ({ dims, data }, { classes, count, threshold }, see) => {
    const rows = dims[1] ?? 0
    for (let row = 0; row < rows; row++) {
      const at = (column: number): number => data[row * 6 + column] ?? NaN
      const index = Math.round(at(5))
      if (Number.isNaN(index)) throw new Error('the model returned a class that is not a number')
      // Rows without a box may have any class.
      if (at(4) >= threshold && !(index >= 0 && index < count)) {
        throw new Error(`the model returned the class ${index}, but it has ${count} names`)
      }
      if (classes.includes(index)) see(at(4), () => ({ x1: at(0), y1: at(1), x2: at(2), y2: at(3) }))
    }
  },
} satisfies Record<Layout['kind'], Reader>
