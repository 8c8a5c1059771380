// Binary images and the regions in them.
import type { Rectangle } from './box.ts'

/** Pixels in rows from the top, 1 if set. */
export type Mask = { readonly width: number; readonly height: number; readonly bits: Uint8Array }

/** A connected region: its bounding box and number of pixels. */
export type Region = Rectangle & { readonly pixels: number }

/** Morphological opening with a square of 3 pixels. Removes specks and thin lines; larger regions keep their shape. */
export const opened = (mask: Mask): Mask => grown(shrunk(mask))

/** Erosion: keeps pixels whose neighbours are all set. Pixels outside the image count as set. */
const shrunk = (mask: Mask): Mask => filtered(mask, 3, 1)
/** Dilation: sets pixels with a neighbour that is set. */
const grown = (mask: Mask): Mask => filtered(mask, 1, 0)

/** Sets a pixel if at least `least` of it and its two neighbours are set: along rows, then along columns. */
function filtered({ width, height, bits }: Mask, least: number, outside: number): Mask {
  const rows = new Uint8Array(bits.length)
  for (let at = 0; at < bits.length; at++) {
    const x = at % width
    const before = x > 0 ? (bits[at - 1] ?? 0) : outside
    const after = x < width - 1 ? (bits[at + 1] ?? 0) : outside
    rows[at] = before + (bits[at] ?? 0) + after >= least ? 1 : 0
  }
  const all = new Uint8Array(bits.length)
  const last = width * (height - 1)
  for (let at = 0; at < bits.length; at++) {
    const above = at >= width ? (rows[at - width] ?? 0) : outside
    const below = at < last ? (rows[at + width] ?? 0) : outside
    all[at] = above + (rows[at] ?? 0) + below >= least ? 1 : 0
  }
  return { width, height, bits: all }
}

/** The 8-connected regions of a mask. */
export function components({ width, height, bits }: Mask): Region[] {
  const seen = new Uint8Array(bits.length)
  const pending = new Int32Array(bits.length)
  const regions: Region[] = []
  for (let start = 0; start < bits.length; start++) {
    if (bits[start] !== 1 || seen[start] === 1) continue
    let [x1, y1, x2, y2, pixels, depth] = [width, height, 0, 0, 0, 0]
    pending[depth++] = start
    seen[start] = 1
    while (depth > 0) {
      const at = pending[--depth] ?? 0
      const [x, y] = [at % width, Math.floor(at / width)]
      pixels++
      x1 = Math.min(x1, x)
      y1 = Math.min(y1, y)
      x2 = Math.max(x2, x + 1)
      y2 = Math.max(y2, y + 1)
      for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++) {
        for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
          const next = row * width + column
          if (bits[next] !== 1 || seen[next] === 1) continue
          seen[next] = 1
          pending[depth++] = next
        }
      }
    }
    regions.push({ x1, y1, x2, y2, pixels })
  }
  return regions
}
