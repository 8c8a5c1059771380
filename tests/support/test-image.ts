// Generated test images.
import sharp, { type Sharp } from 'sharp'
import { seededRandom } from './seeded-random.ts'

type Colour = string

/** A picture of one colour, with rectangles of other colours. */
export function picture(
  width: number,
  height: number,
  background: Colour,
  ...rectangles: readonly (readonly [colour: Colour, left: number, top: number, width: number, height: number])[]
): Sharp {
  return sharp({ create: { width, height, channels: 3, background } }).composite(
    rectangles.map(([colour, left, top, wide, high]) => ({
      input: { create: { width: wide, height: high, channels: 3, background: colour } },
      left,
      top,
    })),
  )
}

export const water = '#3a6ea5'
export const plants = '#2f8f2f'

/** Open water. */
export const lake = (width = 320, height = 240): Promise<Buffer> => picture(width, height, water).jpeg().toBuffer()

/** Water with a green square at its centre, a quarter as wide and high. */
export const greenLake = (width = 320, height = 240): Promise<Buffer> =>
  picture(width, height, water, [plants, (width * 3) / 8, (height * 3) / 8, width / 4, height / 4])
    .jpeg()
    .toBuffer()

/** Noise derived from a seed, which compresses badly. */
export function noise(width: number, height: number, seed = 1): Sharp {
  const data = new Uint8Array(3 * width * height)
  const random = seededRandom(seed)
  for (let index = 0; index < data.length; index++) data[index] = random.below(256)
  return sharp(data, { raw: { width, height, channels: 3 } })
}
