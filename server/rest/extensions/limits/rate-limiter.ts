// Limits the requests per second of roles, users and API keys.
import { createHash } from 'node:crypto'
import { subjectText, type Identity } from '../../../identity/identity.ts'
import type { KeyLimits, Limits, Rate } from '../../../identity/limits.ts'
import { type ApiError, errors } from '../../errors.ts'
import type { Counts } from './counts.ts'
import type { Lease, LeaseState } from './lease.ts'
import { Leases } from './leases.ts'

/** The limits that a request counts against: those of its role and of its API key. */
export type RatedLimits = { readonly ofRole: Limits | undefined; readonly key: KeyLimits | undefined }

/** Whose requests are limited. */
type Policy = {
  /** Name in the headers. */
  readonly name: 'role' | 'user' | 'key'
  /** Names it in errors. */
  readonly text: string
  /** Its key in the counts; structured, so that no role or user can have the key of another. */
  readonly subject: string
  readonly rate: Rate
}

/** The state of a policy after a request. */
type PolicyState = { readonly policy: Policy; readonly state: LeaseState }

/** What the limiter says about a request. */
export type RateDecision = {
  /** Undefined if the request may run. */
  readonly error: ApiError | undefined
  /** `RateLimit-Policy` and `RateLimit`, for the response whether the request may run or not. */
  readonly headers: readonly (readonly [string, string])[]
}

export class RateLimiter {
  readonly #leases: Leases

  /** @param now milliseconds, from any moment */
  constructor(counts: Counts, now?: () => number) {
    this.#leases = new Leases(counts, now)
  }

  /**
   * Counts requests against all limits that they have. Requests that are refused by one limit count against none.
   *
   * @param count number of requests, such as the parts of a batch
   * @returns undefined when none of the limits is a rate
   * @throws the error of the database, as a rejection
   */
  take(
    limits: RatedLimits,
    identity: Identity,
    count = 1,
  ): RateDecision | undefined | Promise<RateDecision | undefined> {
    const policies = policiesOf(limits, identity)
    if (policies.length === 0) return undefined
    for (const policy of policies) {
      if (count > policy.rate.burst) {
        return { error: errors.tooManyRequests(policy.text, policy.rate, null), headers: headersOf(policies, []) }
      }
      const lease = this.#leaseOf(policy)
      if (lease.refuses(count)) return this.#refuseBy(policy, lease.refuse(count), policies, [], count)
    }
    return this.#takeFrom(policies, count, [])
  }

  /** Takes from the policies one after the other; synchronously as long as their leases are enough. */
  #takeFrom(
    policies: readonly Policy[],
    count: number,
    done: readonly PolicyState[],
  ): RateDecision | Promise<RateDecision> {
    const states = [...done]
    for (const policy of policies.slice(done.length)) {
      const taken = this.#leaseOf(policy).take(count)
      if (taken instanceof Promise) {
        return taken.then(
          (state) => this.#continue(policies, count, states, policy, state),
          (error: unknown) => {
            this.#giveBack(states, count)
            throw error
          },
        )
      }
      if (!taken.isGranted) return this.#refuseBy(policy, taken, policies, states, count)
      states.push({ policy, state: taken })
    }
    return { error: undefined, headers: headersOf(policies, states) }
  }

  #continue(
    policies: readonly Policy[],
    count: number,
    done: readonly PolicyState[],
    policy: Policy,
    state: LeaseState,
  ): RateDecision | Promise<RateDecision> {
    if (!state.isGranted) return this.#refuseBy(policy, state, policies, done, count)
    return this.#takeFrom(policies, count, [...done, { policy, state }])
  }

  /** The states of other policies are left out: their times may be later than `Retry-After`, which the draft advises against. */
  #refuseBy(
    policy: Policy,
    state: LeaseState,
    policies: readonly Policy[],
    granted: readonly PolicyState[],
    count: number,
  ): RateDecision {
    this.#giveBack(granted, count)
    const error = errors.tooManyRequests(policy.text, policy.rate, state.seconds)
    return { error, headers: headersOf(policies, [{ policy, state }]) }
  }

  #giveBack(granted: readonly PolicyState[], count: number): void {
    for (const { policy } of granted) void this.#leaseOf(policy).giveBack(count)
  }

  #leaseOf({ subject, rate }: Policy): Lease {
    return this.#leases.of(subject, rate)
  }
}

/** Characters of the longest subject: an index of PostgreSQL has no longer keys, and a claim may be as long as a header. */
const longestSubject = 512

/**
 * The text by which requests are counted: a hash, if the ids are long.
 *
 * @param ids JSON texts
 */
function subjectOf(name: string, ids: readonly string[]): string {
  const subject = `[${[JSON.stringify(name), ...ids].join(',')}]`
  if (subject.length <= longestSubject) return subject
  return JSON.stringify([name, createHash('sha256').update(subject).digest('base64')])
}

function policiesOf({ ofRole, key }: RatedLimits, identity: Identity): Policy[] {
  const { role } = identity
  const policies: Policy[] = []
  /** @param ids JSON texts */
  const add = (name: Policy['name'], text: string, ids: readonly string[], rate: Rate): void => {
    policies.push({ name, text, subject: subjectOf(name, ids), rate })
  }
  if (key?.limits.rate) add('key', 'this API key', [JSON.stringify(key.keyId)], key.limits.rate)
  if (ofRole?.userRate)
    add('user', `this user of the role ${role}`, [JSON.stringify(role), subjectText(identity)], ofRole.userRate)
  if (ofRole?.rate) add('role', `the role ${role}`, [JSON.stringify(role)], ofRole.rate)
  return policies
}

/** The fields are lists of structured fields (RFC 9651), as in version 10 of draft-ietf-httpapi-ratelimit-headers. */
function headersOf(policies: readonly Policy[], states: readonly PolicyState[]): RateDecision['headers'] {
  const policyField = policies.map(({ name, rate: { perSecond, burst } }) => {
    return `"${name}";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`
  })
  const stateField = states.map(({ policy, state }) => {
    return `"${policy.name}";r=${state.remaining};t=${state.seconds}`
  })
  const fields: [string, string][] = [['RateLimit-Policy', policyField.join(', ')]]
  if (stateField.length > 0) fields.push(['RateLimit', stateField.join(', ')])
  return fields
}
