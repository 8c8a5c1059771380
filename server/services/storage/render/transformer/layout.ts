// The sizes of a transformed image: what it is scaled to, and which part of it is kept. Images are never enlarged.
// https://docs.imgproxy.net/usage/processing#resize
import type { Transformation } from '../transformation.ts'

export type Size = { readonly width: number; readonly height: number }

export type Layout = {
  readonly scaled: Size
  /** The part of the scaled image that is kept. */
  readonly crop: Size & { readonly left: number; readonly top: number }
}

const whole = (length: number): number => Math.max(1, Math.round(length))

/** The layout of an image of this size. A gravity of `sm` is treated as the middle. */
export function layoutOf(source: Size, transformation: Transformation): Layout {
  const { width = 0, height = 0, resize = 'cover' } = transformation
  const shrunk = shrinkage(source, width, height, resize)
  const scaled = { width: whole(source.width / shrunk.x), height: whole(source.height / shrunk.y) }
  const kept =
    resize === 'cover'
      ? { width: Math.min(scaled.width, width || Infinity), height: Math.min(scaled.height, height || Infinity) }
      : scaled
  const { left, top } = positionOf(scaled, kept, transformation)
  return { scaled, crop: { ...kept, left, top } }
}

/** By how much each side becomes shorter. */
function shrinkage(
  source: Size,
  width: number,
  height: number,
  resize: NonNullable<Transformation['resize']>,
): { readonly x: number; readonly y: number } {
  const x = width === 0 ? undefined : source.width / width
  const y = height === 0 ? undefined : source.height / height
  if (resize === 'fill') {
    // The side without a size keeps its own.
    return enlargingNothing(x ?? 1, y ?? 1)
  }
  if (x === undefined || y === undefined) {
    const both = x ?? y ?? 1
    return enlargingNothing(both, both)
  }
  const both = resize === 'cover' ? Math.min(x, y) : Math.max(x, y)
  return enlargingNothing(both, both)
}

/** Keeps the requested proportions, but no side becomes longer. */
function enlargingNothing(x: number, y: number): { readonly x: number; readonly y: number } {
  const least = Math.min(x, y)
  return least < 1 ? { x: x / least, y: y / least } : { x, y }
}

function positionOf(
  scaled: Size,
  kept: Size,
  { gravity = 'ce', x_offset, y_offset }: Transformation,
): { readonly left: number; readonly top: number } {
  const [spareX, spareY] = [scaled.width - kept.width, scaled.height - kept.height]
  const within = (position: number, spare: number): number => Math.min(Math.max(Math.round(position), 0), spare)
  if (gravity === 'fp') {
    return {
      left: within((x_offset ?? 0.5) * scaled.width - kept.width / 2, spareX),
      top: within((y_offset ?? 0.5) * scaled.height - kept.height / 2, spareY),
    }
  }
  const offset = (value = 0, length: number): number => (Math.abs(value) < 1 ? value * length : value)
  const [x, y] = [offset(x_offset, scaled.width), offset(y_offset, scaled.height)]
  const left = gravity.includes('we') ? x : gravity.includes('ea') ? spareX - x : spareX / 2 + x
  const top = gravity.startsWith('no') ? y : gravity.startsWith('so') ? spareY - y : spareY / 2 + y
  return { left: within(left, spareX), top: within(top, spareY) }
}
