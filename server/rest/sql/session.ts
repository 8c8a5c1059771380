// The check that the session which a token names is alive: see `auth.check_session` in `sql/migrations`.
import type { Identity } from '../../identity/identity.ts'
import type { Statement } from './fragment.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/**
 * The statement that fails with PGRST303 (401) when the session has ended or its account is gone. Undefined for an
 * identity whose claims name no session: API keys, and tokens from elsewhere.
 */
export function sessionStatement({ claims }: Identity): (Statement & { readonly hasNoEffect: true }) | undefined {
  const { session_id: session, sub: user } = claims
  if (typeof session !== 'string' || !uuid.test(session)) return undefined
  return {
    text: 'select from auth.check_session($1, $2)',
    values: [session, typeof user === 'string' && uuid.test(user) ? user : null],
    hasNoEffect: true,
  }
}
