// Limits on the requests of a role (`alter role … set pgrst.max_…`) or of an API key (`rowhouse keys limit`).
import { nearestName } from '../text/nearest-name.ts'

/** A rate of requests. Unused requests accumulate up to `burst`. */
export type Rate = {
  /** Requests per second, more than 0. */
  readonly perSecond: number
  /** Greatest number of requests at once: a whole number, at least 1. */
  readonly burst: number
}

/** Limits of a role or of an API key. What is undefined has no limit of its own. */
export type Limits = {
  /** Replaces `db-max-rows`; null: unlimited. */
  readonly maxRows?: number | null
  /** Replaces `db-max-cost`; null: unlimited. */
  readonly maxCost?: number | null
  /** Replaces `db-max-embed-depth`; null: unlimited. */
  readonly maxEmbedDepth?: number | null
  /** Rate of all requests together. */
  readonly rate?: Rate
  /** Rate of each user, by the claim `sub`. Roles only. */
  readonly userRate?: Rate
}

/** The limits of the API key that a request was sent with. */
export type KeyLimits = { readonly keyId: string; readonly limits: Limits }

/** Names as in `alter role … set pgrst.<name>`. */
const limitNames = [
  'max_rows',
  'max_cost',
  'max_embed_depth',
  'max_requests_per_second',
  'max_request_burst',
  'max_user_requests_per_second',
  'max_user_request_burst',
] as const

export type LimitName = (typeof limitNames)[number]

/** The names of limits that an API key may have. */
export const keyLimitNames: readonly LimitName[] = limitNames.filter((name) => !name.startsWith('max_user'))

const highestRate = 1_000_000
const whole = 'a whole number or none'

type Rule = { readonly parse: (text: string) => number | null | undefined; readonly allowed: string }

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number | undefined => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return number >= min && number <= max ? number : undefined
  }

const orNone = (text: string): number | null | undefined =>
  text.toLowerCase() === 'none' ? null : wholeNumber(0, Number.MAX_SAFE_INTEGER)(text)

function rateNumber(text: string): number | undefined {
  const number = /^\d{1,7}(?:\.\d{1,6})?$/.test(text) ? Number(text) : NaN
  return number >= 0.001 && number <= highestRate ? number : undefined
}

const count: Rule = { parse: orNone, allowed: whole }
const rate: Rule = { parse: rateNumber, allowed: `a number from 0.001 to ${highestRate}` }
const burst: Rule = { parse: wholeNumber(1, highestRate), allowed: `a whole number from 1 to ${highestRate}` }

const rules: Readonly<Record<LimitName, Rule>> = {
  max_rows: count,
  max_cost: count,
  max_embed_depth: count,
  max_requests_per_second: rate,
  max_request_burst: burst,
  max_user_requests_per_second: rate,
  max_user_request_burst: burst,
}

const isLimitName = (name: string): name is LimitName => limitNames.some((known) => known === name)

/** What a limit's value may be, in words. */
export const allowedLimit = (name: LimitName): string => rules[name].allowed

/** Reads the value of a limit: null for `none`, undefined if it is invalid. */
export const parseLimit = (name: LimitName, text: string): number | null | undefined => rules[name].parse(text.trim())

export type ParsedLimits = {
  /** Undefined if there are none. */
  readonly limits: Limits | undefined
  /** What is wrong with each entry that was ignored, such as `max_rows = abc: allowed is …`. */
  readonly problems: readonly string[]
}

/**
 * Reads limits from pairs of name and value. An invalid value counts as missing, and so does an empty one, as with
 * PostgREST's settings in the database.
 */
export function parseLimits(pairs: Iterable<readonly [name: string, value: string]>): ParsedLimits {
  const values = new Map<LimitName, number | null>()
  const problems: string[] = []
  for (const [name, text] of pairs) {
    if (!isLimitName(name)) {
      const nearest = nearestName(name, limitNames)
      problems.push(`${name}: there is no such limit${nearest === undefined ? '' : `; did you mean ${nearest}?`}`)
      continue
    }
    if (text.trim() === '') continue
    const value = parseLimit(name, text)
    if (value === undefined) problems.push(`${name} = ${text}: allowed is ${allowedLimit(name)}`)
    else values.set(name, value)
  }
  const maxRows = values.get('max_rows')
  const maxCost = values.get('max_cost')
  const maxEmbedDepth = values.get('max_embed_depth')
  const all = rateOf(values, 'max_requests_per_second', 'max_request_burst', problems)
  const ofUser = rateOf(values, 'max_user_requests_per_second', 'max_user_request_burst', problems)
  const limits: Limits = {
    ...(maxRows === undefined ? {} : { maxRows }),
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxEmbedDepth === undefined ? {} : { maxEmbedDepth }),
    ...(all ? { rate: all } : {}),
    ...(ofUser ? { userRate: ofUser } : {}),
  }
  return { limits: Object.keys(limits).length > 0 ? limits : undefined, problems }
}

/** A rate; its burst defaults to the requests of one second. */
function rateOf(
  values: ReadonlyMap<LimitName, number | null>,
  rateName: LimitName,
  burstName: LimitName,
  problems: string[],
): Rate | undefined {
  const perSecond = values.get(rateName) ?? undefined
  const most = values.get(burstName) ?? undefined
  if (perSecond !== undefined) return { perSecond, burst: most ?? Math.max(1, Math.ceil(perSecond)) }
  if (most !== undefined) problems.push(`${burstName} = ${most}: has no effect without ${rateName}`)
  return undefined
}

/** The stricter of two limits; undefined is no statement about it, null is unlimited. */
export function stricterLimit(
  one: number | null | undefined,
  other: number | null | undefined,
): number | null | undefined {
  if (one === undefined || other === undefined) return one === undefined ? other : one
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
