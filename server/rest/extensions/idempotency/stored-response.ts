// Statements that keep the response of a request with an Idempotency-Key (`sql/migrations/000010_idempotency.sql`).
import type { PipelineStatement } from '../../database.ts'
import type { IdempotentRequest } from './idempotency-key.ts'

/** A response as it is stored. */
export type StoredResponse = {
  readonly status: number
  readonly statusText: string | undefined
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

/**
 * Reserves the key for the transaction. See `Claim` in `database.ts`.
 *
 * @param most keys of a caller in 24 hours; 0: unlimited
 */
export const claimStatement = (
  { caller, key }: IdempotentRequest,
  most: number,
): PipelineStatement & { hasNoEffect: true } => ({
  // The function reads the setting.
  text: "select set_config('rowhouse.most_idempotency_keys', $3, true), rowhouse.claim_idempotency_key($1, $2)",
  values: [caller, key, String(most)],
  hasNoEffect: true,
})

/** Stores the response under the key. */
export const storeStatement = (
  { caller, key, request }: IdempotentRequest,
  { status, statusText, headers, body }: StoredResponse,
): PipelineStatement => ({
  text: 'select rowhouse.store_response($1, $2, $3, $4, $5, $6, $7)',
  values: [caller, key, request, String(status), statusText ?? null, JSON.stringify(headers), body],
})

/** Statements that find the response of a key, as the login role. The last one has at most one row. */
export const storedStatements = ({ caller, key }: IdempotentRequest): readonly PipelineStatement[] => [
  { text: "select set_config('role', 'none', true)", values: [], isUnprepared: true },
  // A prepared statement would be looked at before the role has changed.
  {
    isUnprepared: true,
    text: `select request, status, status_text, headers, body from rowhouse.idempotent_responses
      where caller = $1 and key = $2 and created_at > now() - interval '24 hours'`,
    values: [caller, key],
    resultFormats: [1, 0, 0, 0, 1],
  },
]
