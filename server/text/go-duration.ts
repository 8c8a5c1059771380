// Durations in Go's notation, which GoTrue's settings and API use.

const secondsOf: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
}

/** 2⁶³ nanoseconds. */
const limit = 2 ** 63 / 1e9

/**
 * The seconds of a duration: `1h30m`, `1.5h`, `-2s`, `0`. Undefined for other text, and for durations that are too long
 * for Go, about 292 years.
 * https://pkg.go.dev/time#ParseDuration
 */
export function goDuration(text: string): number | undefined {
  const [, sign = '', rest = ''] = /^([-+]?)(.*)$/s.exec(text) ?? []
  if (rest === '0') return 0
  let seconds = 0
  let end = 0
  for (const match of rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy)) {
    seconds += Number(match[1]) * (secondsOf[match[2] ?? ''] ?? Number.NaN)
    end = match.index + match[0].length
  }
  if (end === 0 || end < rest.length || !(seconds < limit)) return undefined
  return sign === '-' ? -seconds : seconds
}
