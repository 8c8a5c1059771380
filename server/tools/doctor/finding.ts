// A finding of `rowhouse doctor`.
import type { Level } from '../findings.ts'

export const areas = [
  'settings',
  'versions',
  'clocks',
  'tls',
  'pooler',
  'connections',
  'extensions',
  'policies',
  'storage',
  'realtime',
  'webhooks',
  'schedules',
  'functions',
  'mcp',
  'backup',
  'service',
] as const
export type Area = (typeof areas)[number]

export type DoctorFinding = {
  readonly area: Area
  /** Names the kind of finding: stable between versions. */
  readonly code: string
  readonly level: Level
  /** What it is about: a setting, a table, an extension, a server. */
  readonly subject: string
  /** What was found, with its figures. */
  readonly what: string
  /** What follows from it. */
  readonly why: string
  /** What to do. */
  readonly advice: string
  /** Statements that do it; undefined when there are none, or a person must choose. */
  readonly fix?: string
}

/** An area that was not looked at, and why. */
export type Skipped = { readonly area: Area; readonly reason: string }

/** `1.5 GB`, in units of 1024 as PostgreSQL's `pg_size_pretty`. */
export function bytes(count: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = count
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export const percent = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(whole, 1))} %`
