// The `Prefer` header. RFC 7240; https://docs.postgrest.org/en/stable/references/api/preferences.html
import { readInteger } from './integer.ts'
import { lenientUtf8Text } from './query-string.ts'
import { strip } from '../../text/haskell.ts'
import type { RestSettings } from '../settings.ts'

export type Preferences = {
  readonly resolution?: 'merge-duplicates' | 'ignore-duplicates'
  readonly representation?: 'representation' | 'minimal' | 'headers-only'
  readonly count?: 'exact' | 'planned' | 'estimated'
  readonly transaction?: 'commit' | 'rollback'
  readonly missing?: 'default' | 'null'
  readonly handling?: 'strict' | 'lenient'
  readonly timezone?: string
  /** A bigint only if a number would lose precision. */
  readonly maxAffected?: number | bigint
  readonly pagination?: 'keyset'
  /** Whether a CSV begins before its last row is known. */
  readonly stream?: 'rows'
  /** Reads from the primary instead of a replica. */
  readonly read?: 'primary'
  /** Unknown preferences, in the order of the header. */
  readonly invalid: readonly string[]
}

type Chosen = { -readonly [K in keyof Preferences]: Preferences[K] }

/** Preferences with a fixed text, by that text. */
const known: ReadonlyMap<string, Omit<Preferences, 'invalid'>> = new Map<string, Omit<Preferences, 'invalid'>>([
  ['resolution=merge-duplicates', { resolution: 'merge-duplicates' }],
  ['resolution=ignore-duplicates', { resolution: 'ignore-duplicates' }],
  ['return=representation', { representation: 'representation' }],
  ['return=minimal', { representation: 'minimal' }],
  ['return=headers-only', { representation: 'headers-only' }],
  ['count=exact', { count: 'exact' }],
  ['count=planned', { count: 'planned' }],
  ['count=estimated', { count: 'estimated' }],
  ['tx=commit', { transaction: 'commit' }],
  ['tx=rollback', { transaction: 'rollback' }],
  ['missing=default', { missing: 'default' }],
  ['missing=null', { missing: 'null' }],
  ['handling=strict', { handling: 'strict' }],
  ['handling=lenient', { handling: 'lenient' }],
  ['pagination=keyset', { pagination: 'keyset' }],
  ['stream=rows', { stream: 'rows' }],
  ['read=primary', { read: 'primary' }],
])

const none: Preferences = { invalid: [] }
const timezone = 'timezone='
const maxAffected = 'max-affected='

/** Parses a 64-bit integer, which overflows as in PostgREST. */
function affectedRows(text: string): number | bigint | undefined {
  const rows = readInteger(text)
  if (rows === undefined) return undefined
  const wrapped = BigInt.asIntN(64, rows)
  const number = Number(wrapped)
  return Number.isSafeInteger(number) ? number : wrapped
}

/**
 * Parses all `Prefer` headers. The first of conflicting preferences wins.
 * @param transactionChoice whether clients may choose how the transaction ends (`db-tx-end`)
 */
export function parsePreferences(values: readonly string[], transactionChoice: boolean): Preferences {
  if (values.length === 0) return none
  const invalid: string[] = []
  let chosen: Chosen = { invalid }
  let affected: string | undefined
  for (const value of values) {
    if (value === '') continue
    for (const part of value.split(',')) {
      const text = strip(part)
      const preference = known.get(text)
      if (preference) chosen = { ...preference, ...chosen }
      else if (text.startsWith(timezone)) chosen.timezone ??= lenientUtf8Text(text.slice(timezone.length))
      else if (text.startsWith(maxAffected)) affected ??= text.slice(maxAffected.length)
      else invalid.push(lenientUtf8Text(text))
    }
  }
  if (!transactionChoice) delete chosen.transaction
  const rows = affected === undefined ? undefined : affectedRows(affected)
  if (rows !== undefined) chosen.maxAffected = rows
  return chosen
}

/** The value of `Preference-Applied`; undefined when no preference was applied. */
export function preferenceApplied(preferences: Preferences): string | undefined {
  const { resolution, missing, representation, count, transaction, handling, timezone, maxAffected } = preferences
  const { pagination, stream, read } = preferences
  const applied: string[] = []
  if (resolution) applied.push(`resolution=${resolution}`)
  if (missing) applied.push(`missing=${missing}`)
  if (representation) applied.push(`return=${representation}`)
  if (count) applied.push(`count=${count}`)
  if (transaction) applied.push(`tx=${transaction}`)
  if (handling) applied.push(`handling=${handling}`)
  if (timezone !== undefined) applied.push(`timezone=${timezone}`)
  if (maxAffected !== undefined && handling === 'strict') applied.push(`max-affected=${maxAffected}`)
  if (pagination) applied.push(`pagination=${pagination}`)
  if (stream) applied.push(`stream=${stream}`)
  if (read) applied.push(`read=${read}`)
  return applied.length === 0 ? undefined : applied.join(', ')
}

/** Whether the transaction of a request is rolled back at its end (`Prefer: tx=rollback`, `db-tx-end`). */
export const rollsBack = ({ transaction }: Pick<Preferences, 'transaction'>, txEnd: RestSettings['dbTxEnd']): boolean =>
  transaction === 'rollback' || (txEnd.startsWith('rollback') && transaction !== 'commit')
