// ID tokens of clients, and the members of /oauth/userinfo: what the scopes of a client permit it to read of an account.
// https://openid.net/specs/openid-connect-core-1_0.html#IDToken
import type { AuthContext } from '../auth-context.ts'
import { idTokenUse } from '../../../identity/jwt/jwt-claims.ts'
import { hasScope } from '../../../identity/oauth-scopes.ts'

/** Seconds. */
const lifetime = 3600

/** Whether addresses of the account were proved, which a confirmation without a mail does not. */
export type ProvedAddresses = { readonly email_proved: boolean; readonly phone_proved: boolean }

/** The parts of a user object that are shown. */
type User = {
  readonly id: string
  readonly email?: string
  readonly phone?: string
  readonly updated_at?: string
  readonly user_metadata?: Readonly<Record<string, unknown>>
}

/** Whether the key of the settings can sign ID tokens: clients verify them with public keys, which a secret has not. */
export const signsIdTokens = ({ accessTokens }: Pick<AuthContext, 'accessTokens'>): boolean => {
  const algorithm = accessTokens.algorithm()
  return algorithm !== undefined && !algorithm.startsWith('HS')
}

export type IdTokenParts = ProvedAddresses & {
  readonly userText: string
  readonly clientId: string
  readonly scope: string
  readonly nonce: string | null
  /** When the user has signed in, in seconds since 1970. */
  readonly auth_time: number
}

/** The signed ID token. */
export function idToken(
  context: Pick<AuthContext, 'accessTokens' | 'issuer' | 'now'>,
  { userText, clientId, scope, nonce, auth_time, ...proved }: IdTokenParts,
): Promise<string> {
  const user = JSON.parse(userText) as User
  const issuedAt = Math.floor(context.now() / 1000)
  const claims = {
    iss: context.issuer(),
    sub: user.id,
    aud: [clientId],
    iat: issuedAt,
    exp: issuedAt + lifetime,
    auth_time,
    ...(nonce === null ? {} : { nonce }),
    ...(hasScope(scope, 'email') ? { ...present('email', user.email), email_verified: proved.email_proved } : {}),
    ...(hasScope(scope, 'phone')
      ? { ...present('phone_number', user.phone), phone_number_verified: proved.phone_proved }
      : {}),
    ...(hasScope(scope, 'profile') ? profileOf(user) : {}),
    client_id: clientId,
    // The key is that of access tokens: without this, anyone with an ID token could act as its user.
    token_use: idTokenUse,
  }
  return context.accessTokens.sign(JSON.stringify(claims))
}

/** The members of /oauth/userinfo. A token of the user, which has no scopes, gets the id alone, as in GoTrue. */
export function userInfo(userText: string, scope: string, proved: ProvedAddresses): object {
  const user = JSON.parse(userText) as User
  return {
    sub: user.id,
    ...(hasScope(scope, 'email')
      ? { ...present('email', user.email), ...(proved.email_proved ? { email_verified: true } : {}) }
      : {}),
    ...(hasScope(scope, 'profile') ? { ...profileOf(user), user_metadata: user.user_metadata ?? {} } : {}),
    ...(hasScope(scope, 'phone')
      ? { ...present('phone', user.phone), ...(proved.phone_proved ? { phone_verified: true } : {}) }
      : {}),
  }
}

function profileOf({ email, updated_at: updatedAt = '', user_metadata: data = {} }: User): object {
  const first = (...names: readonly string[]): unknown =>
    names.map((name) => data[name]).find((value) => typeof value === 'string' && value !== '')
  const time = Math.floor(Date.parse(updatedAt) / 1000)
  return {
    ...present('name', first('name') ?? email),
    ...present('picture', first('picture', 'avatar_url')),
    ...present('preferred_username', first('preferred_username', 'username')),
    ...(time > 0 ? { updated_at: time } : {}),
  }
}

const present = (name: string, value: unknown): object => (value === undefined || value === '' ? {} : { [name]: value })
