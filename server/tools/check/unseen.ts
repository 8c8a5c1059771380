// What the role that checks may not see: lints that find nothing there have not looked.
import type { DatabaseRow } from './catalogue.ts'

/** Lints that could not look, and why. */
export type Unseen = {
  readonly lints: readonly string[]
  /** What the role cannot see: `storage.buckets`, or the statistics of tables in some schemas. */
  readonly what: string
  readonly reason: string
}

type Facts = Pick<DatabaseRow, 'storage'> & {
  /** The connected role. */
  readonly login: string
  /** Schemas with tables whose statistics are hidden. */
  readonly hidden: readonly string[]
}

/** A pure function. */
export function unseenBy({ login, storage, hidden }: Facts): Unseen[] {
  const found: Unseen[] = []
  if (storage?.readers.length === 0) {
    found.push({
      lints: ['public_bucket_allows_listing'],
      what: 'storage.buckets',
      reason: `${login} can neither read all its rows nor switch to a role that can: grant it supabase_storage_admin, or connect as the owner`,
    })
    found.push({
      lints: ['storage_bucket_listable', 'storage_policy_without_bucket', 'storage_rls_disabled'],
      what: 'storage.buckets',
      reason: `${login} cannot switch to supabase_storage_admin`,
    })
  }
  if (hidden.length > 0) {
    found.push({
      lints: ['table_bloat'],
      what: `the statistics of tables in ${hidden.join(', ')}`,
      reason: `${login} may not read these tables: connect as their owner`,
    })
  }
  return found
}

/** For people. */
export const describeUnseen = ({ lints, what, reason }: Unseen): string =>
  `Not looked at: ${what}, for ${lints.join(', ')}. ${reason}.`
