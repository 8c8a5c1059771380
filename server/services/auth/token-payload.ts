// The claims of access tokens.
import { jsonMembers, jsonObject } from '../../text/json-members.ts'
import { userObject } from './user-object.ts'

/** The session of what functions such as `auth.start_session` return. */
export type IssuedRow = {
  readonly id: string
  readonly aal: string
  readonly amr: readonly unknown[]
  /** Seconds since 1970. */
  readonly created_at: number
  readonly has_verified_factor: boolean
  /** The client of the OAuth server that has the session, and what was granted to it; null for a session of a user. */
  readonly client_id: string | null
  readonly scope: string | null
  readonly refresh_token: string
}

/** What such a function returned, in parts. */
export type IssuedParts = {
  /** The user object as JSON text. */
  readonly userText: string
  /** Its members, as JSON texts. */
  readonly user: ReadonlyMap<string, string>
  readonly session: IssuedRow
  /** JSON text */
  readonly appRole: string
}

/** @param started JSON text: see `StartedSession` */
export function issuedParts(started: string): IssuedParts {
  const parts = jsonMembers(started)
  const userText = userObject(parts.get('user') ?? '{}')
  return {
    userText,
    user: jsonMembers(userText),
    session: JSON.parse(parts.get('session') ?? '{}') as IssuedRow,
    appRole: parts.get('app_role') ?? 'null',
  }
}

export type PayloadOptions = {
  readonly issuer: string
  /** Undefined for that of the account. */
  readonly audience?: string | undefined
  /** Seconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** The claims as JSON text. An address that is not confirmed is none: policies rely on the claim. */
export function tokenPayload(
  { user, session, appRole }: IssuedParts,
  { issuer, audience, issuedAt, expiresAt }: PayloadOptions,
): string {
  const email = user.get('email')
  return jsonObject({
    iss: JSON.stringify(issuer),
    sub: user.get('id'),
    aud: audience === undefined ? user.get('aud') : JSON.stringify(audience),
    exp: String(expiresAt),
    iat: String(issuedAt),
    email: email === '""' || user.has('email_confirmed_at') ? email : undefined,
    phone: user.get('phone'),
    app_metadata: user.get('app_metadata'),
    user_metadata: user.get('user_metadata'),
    role: user.get('role'),
    aal: JSON.stringify(session.aal),
    amr: JSON.stringify(session.amr),
    session_id: JSON.stringify(session.id),
    is_anonymous: user.get('is_anonymous'),
    client_id: textOf(session.client_id),
    scope: textOf(session.scope),
    app_role: appRole === 'null' ? undefined : appRole,
  })
}

const textOf = (value: string | null): string | undefined => (value === null ? undefined : JSON.stringify(value))
