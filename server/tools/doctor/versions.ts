// Versions of Node, PostgreSQL and this program: those that no longer get fixes.
import type { DoctorFinding } from './finding.ts'

/** The last day of support of each line with long-term support. https://nodejs.org/en/about/previous-releases */
const nodeEnds: ReadonlyMap<number, string> = new Map([
  [20, '2026-04-30'],
  [22, '2027-04-30'],
  [24, '2028-04-30'],
  [26, '2029-04-30'],
])

/**
 * The last day of support of each major version, and the minor version that was current on 2025-11-13.
 * https://www.postgresql.org/support/versioning/
 */
const postgresLines: ReadonlyMap<number, { readonly end: string; readonly minor: number }> = new Map([
  [14, { end: '2026-11-12', minor: 20 }],
  [15, { end: '2027-11-11', minor: 15 }],
  [16, { end: '2028-11-09', minor: 11 }],
  [17, { end: '2029-11-08', minor: 7 }],
  [18, { end: '2030-11-14', minor: 1 }],
])
const minorsOf = Date.UTC(2025, 10, 13)
const day = 86_400_000
/** Days before the end of support from which on it is announced. */
const notice = 180

/** The second Thursday of a month, when minor versions are released. https://www.postgresql.org/developer/roadmap/ */
function releaseDay(year: number, month: number): number {
  const first = new Date(Date.UTC(year, month, 1)).getUTCDay()
  return Date.UTC(year, month, 1 + ((4 - first + 7) % 7) + 7)
}

/**
 * The lowest number that the current minor version of a line can have: one per quarter. Releases out of turn make it
 * higher. Undefined for lines that are not known.
 */
export function expectedMinor(major: number, today: Date): number | undefined {
  const line = postgresLines.get(major)
  if (!line) return undefined
  const until = Math.min(today.getTime(), Date.parse(line.end) + day)
  let minor = line.minor
  for (let year = 2026; year <= today.getUTCFullYear(); year++) {
    for (const month of [1, 4, 7, 10]) {
      const released = releaseDay(year, month)
      if (released > minorsOf && released < until) minor++
    }
  }
  return minor
}

const untilEnd = (end: string, today: Date): number => Math.floor((Date.parse(end) + day - today.getTime()) / day)

/** @param version as `process.versions.node` */
export function nodeFindings(version: string, today: Date): DoctorFinding[] {
  const major = Number(version.split('.')[0])
  const end = nodeEnds.get(major)
  // Odd lines end after half a year, and lines before the oldest of the table have ended.
  const days = end === undefined ? (major % 2 === 1 || major < 20 ? -1 : Infinity) : untilEnd(end, today)
  if (days > notice) return []
  return [
    {
      area: 'versions',
      code: 'node_support',
      level: days < 0 ? 'WARN' : 'INFO',
      subject: `Node.js ${version}`,
      what: `Its support ${end === undefined ? 'has ended' : `${days < 0 ? 'ended' : 'ends'} on ${end}`}.`,
      why: 'After that, faults in its HTTP and TLS code are no longer fixed, security faults included.',
      advice: 'Install a line with long-term support: https://nodejs.org/en/about/previous-releases',
    },
  ]
}

/**
 * @param number as `server_version_num`: 180004
 * @param isEmbedded whether it is the PostgreSQL that this program brings
 */
export function postgresFindings(number: number, today: Date, isEmbedded = false): DoctorFinding[] {
  const major = Math.floor(number / 10_000)
  const minor = number % 10_000
  const line = postgresLines.get(major)
  const subject = `PostgreSQL ${major}.${minor}`
  const days = line ? untilEnd(line.end, today) : major < 14 ? -1 : Infinity
  const findings: DoctorFinding[] = []
  if (days <= notice) {
    findings.push({
      area: 'versions',
      code: 'postgres_support',
      level: days < 0 ? 'ERROR' : 'INFO',
      subject,
      what: `The support of PostgreSQL ${major} ${days < 0 ? 'has ended' : 'ends'}${line ? ` on ${line.end}` : ''}.`,
      why: 'After that, faults that lose data or open the database are no longer fixed.',
      advice:
        'Upgrade to a newer major version, by pg_upgrade or dump and restore: https://www.postgresql.org/support/versioning/',
    })
  }
  const expected = expectedMinor(major, today)
  if (expected !== undefined && minor < expected) {
    findings.push({
      area: 'versions',
      code: 'postgres_minor',
      level: isEmbedded ? 'INFO' : 'WARN',
      subject,
      what: `At least ${expected - minor} minor version${expected - minor === 1 ? '' : 's'} newer: ${major}.${expected} is out.`,
      why: 'Minor versions have nothing but fixes, of lost data and security faults among others.',
      advice: isEmbedded
        ? 'It comes with the packages of this program: update them, when a release has it. The data stays as it is.'
        : `Install the latest ${major}.x and restart PostgreSQL; dump and restore are not needed.`,
    })
  }
  return findings
}

/**
 * @param header `Server` of a response of the running service
 * @param own the version of this program
 */
export function serviceVersionFindings(header: string | null, own: string): DoctorFinding[] {
  const running = /\browhouse\/(\S+)/.exec(header ?? '')?.[1]
  if (running === own) return []
  return [
    {
      area: 'versions',
      code: 'service_version',
      level: running === undefined ? 'INFO' : 'WARN',
      subject: 'service',
      what:
        running === undefined
          ? 'Its responses do not say that they are of rowhouse.'
          : `The running service has version ${running}, this program ${own}.`,
      why: 'The findings are those of the settings that this program reads, which may not be those of the service.',
      advice:
        running === undefined
          ? 'Check the URL. A proxy may remove the header Server.'
          : 'Run the doctor of the same version, or finish the upgrade.',
    },
  ]
}
