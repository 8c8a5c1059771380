// Boxes around the objects found in an image.

/** A rectangle in pixels; `x2` and `y2` are exclusive. */
export type Rectangle = { readonly x1: number; readonly y1: number; readonly x2: number; readonly y2: number }

/** A detected object, with a confidence between 0 and 1. */
export type Box = Rectangle & { readonly confidence: number }

const areaOf = ({ x1, y1, x2, y2 }: Rectangle): number => Math.max(0, x2 - x1) * Math.max(0, y2 - y1)

/** Intersection over union of two boxes, from 0 to 1. */
export function overlap(one: Rectangle, other: Rectangle): number {
  const shared = areaOf({
    x1: Math.max(one.x1, other.x1),
    y1: Math.max(one.y1, other.y1),
    x2: Math.min(one.x2, other.x2),
    y2: Math.min(one.y2, other.y2),
  })
  return shared === 0 ? 0 : shared / (areaOf(one) + areaOf(other) - shared)
}

/**
 * Non-maximum suppression: of boxes that overlap by more than `threshold`, keeps only the one with the highest confidence.
 *
 * @returns at most `most` boxes, the highest confidence first
 */
export function suppressed(boxes: readonly Box[], threshold: number, most: number): Box[] {
  const kept: Box[] = []
  for (const box of [...boxes].sort((one, other) => other.confidence - one.confidence)) {
    if (kept.length === most) break
    if (kept.every((other) => overlap(box, other) <= threshold)) kept.push(box)
  }
  return kept
}

/** The area of the union of the boxes. */
export function unionArea(boxes: readonly Rectangle[]): number {
  const columns = [...new Set(boxes.flatMap(({ x1, x2 }) => [x1, x2]))].sort((one, other) => one - other)
  let area = 0
  for (let index = 1; index < columns.length; index++) {
    const [left = 0, right = 0] = [columns[index - 1], columns[index]]
    const spans = boxes.filter(({ x1, x2 }) => x1 <= left && x2 >= right).sort((one, other) => one.y1 - other.y1)
    let [height, bottom] = [0, -Infinity]
    for (const { y1, y2 } of spans) {
      height += Math.max(0, y2 - Math.max(y1, bottom))
      bottom = Math.max(bottom, y2)
    }
    area += height * (right - left)
  }
  return area
}

/** The part of a box within an image; undefined when they do not overlap. */
export function clipped(box: Box, width: number, height: number): Box | undefined {
  const within = (value: number, most: number): number => Math.min(Math.max(value, 0), most)
  const inside = {
    x1: within(box.x1, width),
    y1: within(box.y1, height),
    x2: within(box.x2, width),
    y2: within(box.y2, height),
    confidence: box.confidence,
  }
  return areaOf(inside) > 0 ? inside : undefined
}
