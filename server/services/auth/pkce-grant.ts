// The grant `pkce`: exchanges the code of a redirect for a session.
import { authErrors } from './auth-error.ts'
import type { AuthCall, AuthReply } from './dialect.ts'
import { originOf } from './request-origin.ts'

/** The body of POST /token?grant_type=pkce. */
export type PkceGrantBody = { readonly auth_code?: unknown; readonly code_verifier?: unknown }

/** @throws AuthError 400 `validation_failed`, `bad_code_verifier`; 404 `flow_state_not_found`; 422 `flow_state_expired` */
export async function pkceGrant({
  context,
  body,
  request,
}: Pick<AuthCall<'anyone', PkceGrantBody>, 'context' | 'body' | 'request'>): Promise<AuthReply> {
  const { auth_code: code, code_verifier: verifier } = body
  if (typeof code !== 'string' || code === '' || typeof verifier !== 'string' || verifier === '') {
    throw authErrors.invalid('invalid request: both auth code and code verifier should be non-empty')
  }
  const origin = originOf(request, context)
  const flow = await context.flowStates.exchange(code, verifier, origin)
  const { text } = await context.sessions.respond(flow.started, {
    method: flow.method,
    members: {
      ...(flow.provider_token === null ? {} : { provider_token: flow.provider_token }),
      ...(flow.provider_refresh_token === null ? {} : { provider_refresh_token: flow.provider_refresh_token }),
    },
  })
  return { text }
}
