// Values as people read them.

const dateAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

type Moment = string | number | Date

/** `30 Nov 2026, 14:05:09`, in the time zone of the browser. */
export const dateTimeText = (at: Moment): string => dateAndTime.format(new Date(at))

/** `30 Nov 2026` */
export const dateText = (at: Moment): string => date.format(new Date(at))

/** `14:05:09` */
export const timeText = (at: Moment): string => timeOfDay.format(new Date(at))

/** Seconds of the units in which times are shown. */
const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 days ago` or `in 2 hr` */
function relativeTime(at: Date, now = Date.now()): string {
  const seconds = (at.getTime() - now) / 1000
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
  return relative.format(Math.round(seconds / size), unit)
}

/** A time, with its date when the pointer is on it. */
export function Time({ at }: { readonly at: string | Date | null | undefined }) {
  if (at === undefined || at === null) return <span class="faint">never</span>
  const moment = new Date(at)
  return (
    <time dateTime={moment.toISOString()} title={dateTimeText(moment)}>
      {relativeTime(moment)}
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

/** `1 row` or `2 rows`, for nouns with a regular plural. */
export const countText = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

/** The set with the value, or without it if it was there. */
export function toggled<Value>(values: ReadonlySet<Value>, value: Value): ReadonlySet<Value> {
  const next = new Set(values)
  if (!next.delete(value)) next.add(value)
  return next
}
