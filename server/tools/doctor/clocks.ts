// The clocks of this machine, the database and the service.
import type { DoctorFinding } from './finding.ts'

/** Seconds from which on two clocks differ, beyond what measuring and the `Date` header's whole seconds explain. */
const noticed = 2
/** Seconds by which tokens may be used early or late, as in PostgREST: JWTs with `exp`, `nbf` or `iat` beyond are refused. */
const tokenLeeway = 30

/** A reading of another clock. Times are milliseconds since 1970. */
export type ClockReading = {
  /** `the database`, `the service` */
  readonly name: string
  readonly time: number
  /** This machine's time before and after. */
  readonly before: number
  readonly after: number
  /** Milliseconds of the reading's unit: 1000 for whole seconds, which are rounded down. */
  readonly unit: number
}

/** Seconds by which the clock is certainly ahead, negative if it is behind; 0 within the uncertainty. */
export function skewOf({ time, before, after, unit }: ClockReading): number {
  if (time > after) return (time - after) / 1000
  return time + unit < before ? (time + unit - before) / 1000 : 0
}

export function clockFindings(readings: readonly ClockReading[]): DoctorFinding[] {
  return readings.flatMap((reading): DoctorFinding[] => {
    const skew = skewOf(reading)
    const seconds = Math.abs(skew)
    if (seconds < noticed) return []
    return [
      {
        area: 'clocks',
        code: 'clock_skew',
        level: seconds >= tokenLeeway ? 'ERROR' : 'WARN',
        subject: reading.name,
        what: `Its clock is ${seconds.toFixed(seconds < 10 ? 1 : 0)} s ${skew > 0 ? 'ahead of' : 'behind'} that of this machine.`,
        why:
          `Tokens expire early or late. Beyond ${tokenLeeway} s, new tokens are refused as not yet valid or as expired, depending on which clock issues and ` +
          'which verifies them; sessions, one-time codes and API keys, whose times the database compares, are off by as much.',
        advice:
          'Let all machines set their clocks by NTP (timedatectl set-ntp true, or chrony), and look at the one that differs.',
      },
    ]
  })
}
