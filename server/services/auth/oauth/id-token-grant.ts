// The grant `id_token`: exchanges an ID token, which a native application got from a provider, for a session.
import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import type { AuthCall, AuthReply } from '../dialect.ts'
import type { LinkingTarget } from '../flow-states.ts'
import { originOf } from '../request-origin.ts'
import { requireManualLinking } from './manual-linking.ts'
import { linkToAccount, signInWithProvider, type ProviderSignIn } from './provider-accounts.ts'
import { providerUser, type ProviderUser } from './provider-user.ts'
import { UnsupportedProvider, type Provider } from './providers.ts'

/** The body of POST /token?grant_type=id_token. */
export type IdTokenGrantBody = {
  readonly provider?: unknown
  readonly id_token?: unknown
  readonly access_token?: unknown
  readonly nonce?: unknown
  /** Instead of the name of a provider. */
  readonly issuer?: unknown
  /** Required beside an issuer, as in GoTrue, and ignored: the settings say which client ids a token may be for. */
  readonly client_id?: unknown
  /** Whether the caller's account gets the identity. */
  readonly link_identity?: unknown
}

/** An error in the form of RFC 6749, section 5.2, and in that of all others. */
const oauthError = (error: string, description: string, cause?: unknown): AuthError =>
  new AuthError(400, 'validation_failed', description, { body: { error, error_description: description }, cause })

/** @throws AuthError 400 if the token is not accepted; the errors of `signInWithProvider` and `linkToAccount` */
export async function idTokenGrant({
  context,
  body,
  request,
}: Pick<AuthCall<'anyone', IdTokenGrantBody>, 'context' | 'body' | 'request'>): Promise<AuthReply> {
  const token = textOf(body.id_token)
  if (token === '') throw oauthError('invalid request', 'id_token required')
  if (textOf(body.provider) === '' && (textOf(body.client_id) === '' || textOf(body.issuer) === '')) {
    throw oauthError('invalid request', 'provider or client_id and issuer required')
  }
  let linkingTarget: LinkingTarget | undefined
  if (body.link_identity === true) {
    if (request.headers.authorization === undefined) {
      throw oauthError('invalid request', 'Linking requires a valid user access token in Authorization')
    }
    const { id, session } = await context.callers.user(request)
    linkingTarget = { userId: id, sessionId: session?.id ?? null }
    requireManualLinking(context)
  }
  const provider = providerOf(context, body)
  const claims = await verified(provider, token, textOf(body.access_token))
  requireAudience(claims, provider)
  if (!provider.skipNonceCheck) requireNonce(claims, textOf(body.nonce))
  const attempt: ProviderSignIn = {
    provider,
    user: userOf(claims, provider),
    flow: undefined,
    request,
    origin: originOf(request, context),
  }
  const signedIn = await (linkingTarget === undefined
    ? signInWithProvider(context, attempt)
    : linkToAccount(context, linkingTarget, attempt))
  if (signedIn.kind === 'code') throw new TypeError('a sign-in without a flow has no code')
  const { text } = await context.sessions.respond(signedIn.session, { method: 'oauth' })
  return { text }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function providerOf({ providers }: AuthContext, body: IdTokenGrantBody): Provider {
  const name = textOf(body.provider)
  const issuer = textOf(body.issuer)
  try {
    if (name !== '') return providers.find(name)
    const configured = providers.findByIssuer(issuer)
    if (configured) return configured
  } catch (error) {
    if (!(error instanceof UnsupportedProvider)) throw error
    if (error.kind === 'disabled') {
      throw new AuthError(400, 'provider_disabled', `Provider (issuer ${JSON.stringify(name)}) is not enabled`)
    }
    if (error.kind === 'incomplete') throw authErrors.invalid(`Unsupported provider: ${error.message}`)
  }
  throw authErrors.invalid(`Custom OIDC provider ${JSON.stringify(name)} not allowed`)
}

async function verified({ oidc }: Provider, token: string, accessToken: string): Promise<JWTPayload> {
  let claims: JWTPayload
  try {
    claims = await oidc.verifyIdToken(token, accessToken === '' ? undefined : accessToken)
  } catch (cause) {
    throw oauthError('invalid request', 'Bad ID token', cause)
  }
  if ((claims.sub ?? '') === '') throw oauthError('invalid request', 'Missing sub claim in id_token')
  return claims
}

function userOf(claims: JWTPayload, { name, oidc, claims: read }: Provider): ProviderUser {
  const user = providerUser({ issuer: claims.iss ?? oidc.issuer, provider: name }, read(claims))
  if (user) return user
  throw oauthError(
    'invalid request',
    `Unacceptable sub claim in id_token: ${JSON.stringify(claims.sub)} (must be a text)`,
  )
}

/** The token must be for this service: a client id of the settings. A claim is never compared with what the request says. */
function requireAudience({ aud = [], azp }: JWTPayload, { clientIds }: Provider): void {
  // Signed, but not by this server: the claim can be any JSON value.
  const audience: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!audience.some((id) => clientIds.some((it) => it === id))) {
    const names = audience.map((id) => (typeof id === 'string' ? id : JSON.stringify(id)))
    throw oauthError('invalid request', `Unacceptable audience in id_token: [${names.join(' ')}]`)
  }
  // Providers that name all applications of a project in `aud` tell by `azp` which one the token was issued to. With a
  // single audience, `azp` is another part of the same application: Google names the Android client there.
  if (audience.length > 1 && azp !== undefined && !clientIds.some((id) => id === azp)) {
    throw oauthError('invalid request', `Unacceptable authorized party in id_token: ${JSON.stringify(azp)}`)
  }
}

/** The token contains the hash of the nonce, so that only the application that asked for the token can use it. */
function requireNonce({ nonce: hash }: JWTPayload, nonce: string): void {
  const given = textOf(hash)
  if ((given === '') !== (nonce === '')) {
    throw oauthError('invalid request', 'Passed nonce and nonce in id_token should either both exist or not.')
  }
  if (given !== '' && createHash('sha256').update(nonce).digest('hex') !== given) {
    throw oauthError('invalid nonce', 'Nonces mismatch')
  }
}
