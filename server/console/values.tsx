// Values as people read them.

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** Seconds of the units in which times are told. */
const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 days ago` or `in 2 hr` */
export function relativeTime(at: Date, now = Date.now()): string {
  const seconds = (at.getTime() - now) / 1000
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return relative.format(Math.round(seconds / size), unit)
}

/** A time, with its date when the pointer is on it. */
export function Time({ at }: { readonly at: string | Date | null | undefined }) {
  if (at === undefined || at === null) return <span class="faint">never</span>
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={dateAndTime.format(date)}>
      {relativeTime(date)}
    </time>
  )
}

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB` */
export function bytesText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), byteUnits.length - 1)
  return `${number.format(bytes / 1000 ** power)} ${byteUnits[power] ?? 'B'}`
}

/** `250 ms`, `1.5 s` or `3 hr`. @param milliseconds of a duration */
export function durationText(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  const [unit, size] = longUnits.find(([, length]) => seconds >= length) ?? (['s', 1] as const)
  return `${number.format(seconds / size)} ${unit}`
}

/** Seconds of the units of long durations. */
const longUnits = [
  ['days', 86_400],
  ['hr', 3600],
  ['min', 60],
] as const

/** The set with the value, or without it if it was there. */
export function toggled(values: ReadonlySet<string>, value: string): ReadonlySet<string> {
  const next = new Set(values)
  if (!next.delete(value)) next.add(value)
  return next
}
