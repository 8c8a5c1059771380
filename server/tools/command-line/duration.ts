// Durations in options: 12h, 30d, 8w.

const hours = { h: 1, d: 24, w: 24 * 7 } as const

/** The hours of a duration; undefined for other text. */
export function durationHours(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? []
  return count === undefined || unit === undefined ? undefined : Number(count) * hours[unit as keyof typeof hours]
}
