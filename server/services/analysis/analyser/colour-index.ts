// The baseline without a model: how much of an image is green. It cannot tell species apart, so it never reports water
// hyacinth.
//
// Excess green index: Woebbecke et al., "Color indices for weed identification under various soil, residue, and lighting
// conditions", Transactions of the ASAE 38 (1995). Threshold: Otsu, "A threshold selection method from gray-level
// histograms", IEEE Transactions on Systems, Man, and Cybernetics 9 (1979).
import type { Box } from './box.ts'
import type { Pixels } from './image.ts'
import { components, opened, type Mask } from './mask.ts'

/** Pixels of the longer side that the index is computed on. */
export const colourIndexSide = 512

export type GreenCover = {
  /** Fraction of green pixels, from 0 to 1. */
  readonly share: number
  /** In pixels of the given image. The confidence is the mean index of the green pixels in the box. */
  readonly boxes: readonly Box[]
  /** Whether the image shows colours: it is neither monochrome nor mostly too dark. */
  readonly hasColour: boolean
}

/** Minimum index of green, regardless of the threshold of the image. Greys and browns reach about 0.05. */
const leastIndex = 0.1
/** Sum of red, green and blue below which a pixel is too dark to have a colour. */
const leastLight = 48
/** Maximum fraction of pixels that are too dark. */
const mostDark = 0.5
/** Minimum difference between the components of a pixel that is not grey, and the minimum fraction of such pixels. */
const leastDifference = 4
const leastColoured = 0.01
/** Minimum area of a region as a fraction of the image. Smaller ones are noise. */
const leastRegion = 0.005
/** Maximum number of regions; the largest are kept. */
const mostRegions = 100
/** Minimum confidence of a box, as for detectors. */
const leastConfidence = 0.25

const bins = 256

/** Finds the green regions of an image. */
export function greenCover(pixels: Pixels): GreenCover {
  const { width, height, data } = pixels
  const indices = excessGreen(data, width * height)
  const threshold = Math.max(leastIndex, otsuThreshold(indices))
  const cover = coverAbove(threshold, indices, pixels)
  // A few very green pixels raise the threshold above the index of all others.
  const { share, boxes } = cover.boxes.length > 0 ? cover : coverAbove(leastIndex, indices, pixels)
  return { share, boxes, hasColour: hasColour(data) }
}

function hasColour(data: Uint8Array): boolean {
  let [dark, coloured] = [0, 0]
  for (let at = 0; at < data.length; at += 3) {
    const [red = 0, green = 0, blue = 0] = [data[at], data[at + 1], data[at + 2]]
    if (red + green + blue < leastLight) dark++
    else if (Math.max(red, green, blue) - Math.min(red, green, blue) >= leastDifference) coloured++
  }
  const total = data.length / 3
  return dark <= mostDark * total && coloured >= leastColoured * total
}

function coverAbove(
  threshold: number,
  indices: Float32Array,
  { width, height }: Pixels,
): Pick<GreenCover, 'share' | 'boxes'> {
  const green = indices.map((index) => (index > threshold ? 1 : 0))
  const mask: Mask = { width, height, bits: Uint8Array.from(green) }
  const share = mask.bits.reduce((sum, bit) => sum + bit, 0) / mask.bits.length
  const regions = components(opened(mask))
    .filter(({ pixels }) => pixels >= leastRegion * width * height)
    .sort((one, other) => other.pixels - one.pixels)
    .slice(0, mostRegions)
  const boxes = regions.map(({ x1, y1, x2, y2 }) => {
    let [sum, count] = [0, 0]
    for (let y = y1; y < y2; y++) {
      for (let x = x1; x < x2; x++) {
        if (mask.bits[y * width + x] !== 1) continue
        sum += indices[y * width + x] ?? 0
        count++
      }
    }
    return { x1, y1, x2, y2, confidence: Math.min(1, Math.max(leastConfidence, sum / count)) }
  })
  return { share, boxes }
}

/** `2g - r - b` of each pixel, where `r + g + b = 1`. Negative values, which are not green, become 0. */
function excessGreen(data: Uint8Array, pixels: number): Float32Array {
  const indices = new Float32Array(pixels)
  for (let pixel = 0; pixel < pixels; pixel++) {
    const [red = 0, green = 0, blue = 0] = [data[3 * pixel], data[3 * pixel + 1], data[3 * pixel + 2]]
    const sum = red + green + blue
    // 2g - r - b = 3g - 1
    if (sum >= leastLight) indices[pixel] = Math.max(0, (3 * green) / sum - 1)
  }
  return indices
}

/** The threshold between 0 and 1 that maximises the variance between the two classes that it separates. */
export function otsuThreshold(values: Float32Array): number {
  const histogram = new Float64Array(bins)
  for (const value of values) {
    const bin = Math.min(bins - 1, Math.floor(value * bins))
    histogram[bin] = (histogram[bin] ?? 0) + 1
  }
  const total = values.length
  const sum = histogram.reduce((all, count, bin) => all + count * bin, 0)
  let [best, threshold, below, sumBelow] = [-1, 0, 0, 0]
  for (let bin = 0; bin < bins - 1; bin++) {
    const count = histogram[bin] ?? 0
    below += count
    sumBelow += count * bin
    if (below === 0) continue
    const above = total - below
    if (above === 0) break
    const distance = sumBelow / below - (sum - sumBelow) / above
    const between = below * above * distance * distance
    if (between > best) [best, threshold] = [between, (bin + 1) / bins]
  }
  return threshold
}
