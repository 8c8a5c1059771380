// What `/auth/v1` decides about accounts with a cookie, too.
import type { IncomingMessage } from 'node:http'
import type { NewAccountParts } from './account.ts'
import type { PasswordAttemptTools } from './password-attempt.ts'
import type { Session } from './session.ts'

export type SignUpCandidate = {
  readonly email: string
  readonly password: string
  readonly firstName: string | null
  readonly lastName: string | null
}

/** An account whose address has to be confirmed. */
export type UnconfirmedAccount = { readonly id: string; readonly passwordHash: string }

/** The decisions are those of the routes of `/auth/v1`; the errors have the form of the cookie routes. */
export type AccountRules = {
  /**
   * Whether the person may sign up, with this password.
   *
   * @throws Failure 403 when sign-up is disabled, 400 when the password is weak, or as the hook before a new user says
   */
  readonly admitSignUp: (request: IncomingMessage, candidate: SignUpCandidate) => Promise<NewAccountParts>
  /** Calls the hook after a new user, and has the address confirmed: see `addressChanged`. @throws Failure as the hook says */
  readonly signedUp: (request: IncomingMessage, account: UnconfirmedAccount) => Promise<void>
  /** @throws Failure 403 when sign-in with an e-mail address is disabled */
  readonly admitSignIn: () => void
  /** Confirms an address without proof if the settings do so: the account may be older than they are. */
  readonly signedIn: (userId: string) => Promise<void>
  /** @throws Failure 400 when a new password is weak */
  readonly admitPassword: (password: string) => void
  /** The hook for attempts. @throws Failure as it says */
  readonly reportAttempt: PasswordAttemptTools['reportAttempt']
  /** Whether addresses are confirmed without proof. */
  readonly confirmsAddresses: () => boolean
  /** Sends a mail for confirming the address, in the background, if the server can. */
  readonly addressChanged: (request: IncomingMessage, account: UnconfirmedAccount) => void
  /**
   * Call this before the address or the password of an account changes, and the result afterwards: it tells the owner by mail, if the
   * settings want that.
   */
  readonly watchChange: (
    request: IncomingMessage,
    userId: string,
  ) => Promise<(change: { readonly hasNewPassword: boolean; readonly hasNewAddress: boolean }) => void>
  /**
   * The claims of an access token as the hook for access tokens returns them, as JSON text; undefined without a hook, or
   * when the session has just ended.
   */
  readonly customClaims: (session: Session, token: TokenTimes) => Promise<string | undefined>
}

export type TokenTimes = {
  /** Undefined for that of the account. */
  readonly audience: string | undefined
  /** Seconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}
