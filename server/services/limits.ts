// Limits of services, such as wrong passwords of an account: so many events in a period, which all processes count together.
import { createHash } from 'node:crypto'
import type { RunQuery } from '../postgres/run-query.ts'
import { DatabaseCounts, type Counts } from '../rest/extensions/limits/counts.ts'
import { Leases } from '../rest/extensions/limits/leases.ts'
import type { Lease } from '../rest/extensions/limits/lease.ts'

export type Limit = {
  /** Distinguishes its counts from those of other limits. */
  readonly name: string
  /** Number of events that may follow each other at once. */
  readonly events: number
  /** Seconds in which as many accrue. */
  readonly period: number
}

/** A text of fixed length that reveals no address. Hashes the parts as JSON, so that different lists differ. */
export const hashOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

/** Milliseconds between a refusal and the next statement: another process may give back the attempt that has succeeded. */
const longestRefusal = 250

/** What the counts can hold: more is no limit. */
const mostEvents = 1e9

export class Limits {
  readonly #leases: Leases

  /** @param now milliseconds, from any moment */
  constructor(counts: Counts, now?: () => number) {
    this.#leases = new Leases(counts, now, longestRefusal)
  }

  /**
   * Counts events of a subject, unless there are too many. A flood of further ones hardly asks the database.
   *
   * @param subject whose events they are, such as an account and a network; stored as a hash
   * @param number a whole number, at least 1
   * @returns undefined if they were counted; otherwise the seconds until they can be, rounded up
   * @throws the error of a lost connection
   */
  async count(limit: Limit, subject: readonly string[], number = 1): Promise<number | undefined> {
    if (number > limit.events) return limit.period
    const { isGranted, seconds } = await this.#leaseOf(limit, subject).take(number)
    return isGranted ? undefined : seconds
  }

  /** Takes back events that were counted. */
  async giveBack(limit: Limit, subject: readonly string[], number = 1): Promise<void> {
    await this.#leaseOf(limit, subject).giveBack(number)
  }

  #leaseOf({ name, events: wanted, period }: Limit, subject: readonly string[]): Lease {
    const events = Math.min(wanted, mostEvents)
    // A limit that has changed counts from the beginning.
    const text = JSON.stringify([name, events, period, hashOf(...subject)])
    return this.#leases.of(text, { perSecond: Math.min(events / period, mostEvents), burst: events })
  }
}

/**
 * Limits that are counted in the database.
 *
 * @param query runs statements as the role that connects
 * @param onWarning receives the reason when the process counts on its own
 */
export const databaseLimits = (query: RunQuery, onWarning: (message: string) => void): Limits =>
  new Limits(new DatabaseCounts(query, onWarning))
