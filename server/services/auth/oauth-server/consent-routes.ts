// `/oauth/authorizations/{authorization_id}`: the page that asks a person for their consent reads the request of a client, and
// sends the answer.
import type { IncomingMessage } from 'node:http'
import type { PathParameter } from '../../../http/path-id.ts'
import { dto } from '../../../http/service-response.ts'
import type { AuthUser } from '../auth-caller.ts'
import type { AuthContext } from '../auth-context.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { originOf } from '../request-origin.ts'
import { redirectRules } from '../request-redirect.ts'
import { accepted } from '../refusal.ts'
import { oauthRefusals, requireOAuthServer } from './oauth-refusal.ts'
import { hashOfSecret, newSecret } from './oauth-secrets.ts'
import { oauthStatements } from './oauth-statements.ts'
import { redirectWith } from './redirect-uri.ts'

/** `schemas/auth-oauth-consent-dto.json` */
type ConsentDto = { readonly action?: string | null }

const authorizationId: PathParameter<string> = {
  description: 'Name of the request, from the query of the page.',
  schema: { type: 'string' },
  // Any other text is the name of no request.
  read: (text) => text.slice(0, 200),
}

const errors = {
  400: 'The request was answered before, or the page is not one of the site.',
  404: "The request is unknown, has expired, or is another user's; or the OAuth server is disabled.",
} as const

export const consentRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/oauth/authorizations/{authorization_id}',
    id: 'authOAuthAuthorization',
    summary: 'The request of an OAuth client for access to your account',
    description:
      'Only you can answer it from then on. If you have granted the same before, it is approved at once, except for an app without a secret whose URI is not `https`.',
    caller: 'user',
    pathParameters: { authorization_id: authorizationId },
    success: [200, 'What the client asks for, or `redirect_url`, where to return to.'],
    schema: { type: 'object' },
    errors,
    handler: async ({ caller, path, context, request }) => {
      requireOAuthServer(context.settings())
      requireSitePage(context, request)
      const code = newSecret()
      const values = [path.authorization_id, caller.id, sessionOf(caller), hashOfSecret(code)]
      const [result] = await context.database.ask(oauthStatements.openAuthorization, values)
      const opened = accepted<Answered | Record<string, unknown>>(result, oauthRefusals)
      if (isAnswered(opened)) return { json: { redirect_url: returnUrl(opened, code) } }
      return { json: { ...opened, user: { id: caller.id, email: caller.row.email ?? '' } } }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/oauth/authorizations/{authorization_id}/consent',
    id: 'authOAuthConsent',
    summary: 'Approve or deny the request of an OAuth client',
    caller: 'user',
    pathParameters: { authorization_id: authorizationId },
    body: dto<ConsentDto>('AuthOAuthConsentDto'),
    success: [200, '`redirect_url`, where to return to: with a code, or an error.'],
    schema: { type: 'object' },
    errors: { ...errors, 403: 'The token is not accepted, or the session needs aal2.' },
    handler: async ({ caller, path, body: { action }, context, request }) => {
      requireOAuthServer(context.settings())
      requireSitePage(context, request)
      if (action !== 'approve' && action !== 'deny') throw authErrors.invalid("action must be 'approve' or 'deny'")
      const code = newSecret()
      const { ip } = originOf(request, context)
      const [result] = await context.database.ask(oauthStatements.answerAuthorization, [
        path.authorization_id,
        caller.id,
        sessionOf(caller),
        action === 'approve',
        hashOfSecret(code),
        ip,
      ])
      return { json: { redirect_url: returnUrl(accepted<Answered>(result, oauthRefusals), code) } }
    },
  }),
]

/** @throws AuthError 403 `session_not_found` for a token without a session: what it approves could not end with it */
function sessionOf({ session }: AuthUser): string {
  if (session === null) throw authErrors.sessionNotFound()
  return session.id
}

type Answered = { readonly approved: boolean; readonly redirect_uri: string; readonly state: string | null }

const isAnswered = (opened: Answered | Record<string, unknown>): opened is Answered => 'approved' in opened

const returnUrl = ({ approved, redirect_uri: uri, state }: Answered, code: string): string =>
  redirectWith(
    uri,
    approved ? { code, state } : { error: 'access_denied', error_description: 'User denied the request', state },
  )

/**
 * A page of another origin must not answer for the person.
 *
 * @throws AuthError 400
 */
function requireSitePage(context: AuthContext, request: IncomingMessage): void {
  const { origin } = request.headers
  if (origin === undefined || redirectRules(context, request).isAllowed(origin)) return
  throw authErrors.invalid('unauthorized request origin')
}
