// Hooks as Postgres functions, which take and return jsonb.
import { sqlState } from '../../../postgres/database-error.ts'
import { qualified } from '../../../rest/sql/identifier.ts'
import type { AuthDatabase } from '../auth-database.ts'
import { AuthError } from '../auth-error.ts'
import { readHookResponse, type HookResponse } from './hook-response.ts'
import type { PostgresHookTarget } from './hook-target.ts'
import { timedOut } from './http-hook.ts'

/** Milliseconds that a function may take, as in GoTrue. */
export const postgresHookTimeout = 2000

/**
 * Calls a hook in its own transaction, as `supabase_auth_admin`, and returns its response.
 *
 * @param payload JSON text
 * @throws AuthError the error of the hook; 422 `hook_timeout`; 500 if the function cannot be called or fails
 */
export async function callPostgresHook(
  database: Pick<AuthDatabase, 'transaction'>,
  target: PostgresHookTarget,
  payload: string,
  timeout: number = postgresHookTimeout,
): Promise<HookResponse> {
  const { schema, name } = target.function
  let response: unknown
  try {
    response = await database.transaction(async (query) => {
      // The timeout applies from the next statement on.
      await query("select set_config('statement_timeout', $1, true)", [String(timeout)])
      const [row] = await query(`select ${qualified(target.function)}($1)::text as response`, [payload])
      return row?.response
    })
  } catch (error) {
    // query_canceled
    if (sqlState(error) === '57014') throw timedOut(timeout)
    const uri = `pg-functions://postgres/${schema}/${name}`
    throw new AuthError(500, 'unexpected_failure', `Error running hook URI: ${uri}`, { cause: error })
  }
  return readHookResponse(typeof response === 'string' ? response : '')
}
