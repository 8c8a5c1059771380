// The time of `rowhouse restore --to`.
import { BackupError } from './backup-error.ts'

/** A moment, for comparisons, and as Postgres reads it, with microseconds. */
export type RestoreTime = { readonly time: Date; readonly text: string }

const pattern =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,6}))?)?\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)$/i

/**
 * Parses a time of RFC 3339, or `latest`. A space may replace the `T`, and seconds may be missing, but not the zone: the zone
 * of the shell is rarely that of a log.
 *
 * @returns undefined for `latest`
 * @throws BackupError that says what is allowed
 */
export function parseRestoreTime(given: string): RestoreTime | undefined {
  if (given.trim().toLowerCase() === 'latest') return undefined
  const [, date, minutes, seconds = '00', fraction = '', zone] = pattern.exec(given.trim()) ?? []
  const invalid = (why: string): BackupError =>
    new BackupError(
      `--to ${given}: ${why}. Use a time with its zone, such as 2026-01-31T14:05:00Z or "2026-01-31 15:05:00+01:00", or \`latest\`.`,
    )
  if (date === undefined || minutes === undefined || zone === undefined) {
    throw invalid(pattern.test(`${given.trim()}Z`) ? 'the time zone is missing' : 'this is not a time')
  }
  const offset = /^[a-z]/i.test(zone)
    ? '+00:00'
    : zone.replace(/^(.\d{2}):?(\d{2})?$/, (_, hours: string, rest = '00') => `${hours}:${rest}`)
  const time = new Date(`${date}T${minutes}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}${offset}`)
  // Date accepts the 30th of February in some forms.
  const isReal = !Number.isNaN(time.getTime()) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
  if (!isReal) throw invalid('this time does not exist')
  return { time, text: `${date} ${minutes}:${seconds}.${fraction.padEnd(6, '0')}${offset}` }
}
