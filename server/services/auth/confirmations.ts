// Mails and messages that confirm addresses: what sign-up and changes of a user need of them.
import type { IncomingMessage } from 'node:http'

/** The challenge of the PKCE flow, from the body of a request. */
export type PkceChallenge = { readonly challenge: string; readonly method: 's256' | 'plain' }

export type ConfirmationOptions = {
  /** Names the target of redirects in `redirect_to` or `Referer`. */
  readonly request: IncomingMessage
  /** Undefined outside the PKCE flow. */
  readonly pkce?: PkceChallenge | undefined
}

export type SignUpOptions = {
  /**
   * Hash of the password of the sign-up that is confirmed, which is then the only one that is valid; null without a password.
   */
  readonly passwordHash: string | null
}

/** A user, and the session that changes the account; null for a token without one. */
export type Changer = { readonly userId: string; readonly sessionId: string | null }

export type Confirmations = {
  /**
   * Stores a new code for the address of an unconfirmed user, and sends it after the commit.
   *
   * @param user the user object as JSON text
   * @returns the user object with `confirmation_sent_at`
   * @throws AuthError 429 `over_email_send_rate_limit`
   */
  readonly confirmEmail: (user: string, options: ConfirmationOptions & SignUpOptions) => Promise<string>
  /** The same for a phone number. @throws AuthError 429 `over_sms_send_rate_limit`, 400 if there is no way to send */
  readonly confirmPhone: (user: string, options: SignUpOptions) => Promise<string>
  /**
   * Sends a notice that there is an account already, after a sign-up with its address. Nothing is sent to a phone. The limits
   * are those of a new address, so that they do not reveal the account.
   *
   * @throws AuthError 429 `over_email_send_rate_limit`, `over_sms_send_rate_limit`
   */
  readonly noticeExistingAccount: (
    user: string,
    address: { readonly email: string } | { readonly phone: string },
    options: ConfirmationOptions,
  ) => Promise<void>
  /**
   * Begins to change the address of a user. Returns the user object with `new_email`.
   *
   * @throws AuthError 422 `email_exists`, 401 `insufficient_aal`, 429
   */
  readonly changeEmail: (changer: Changer, email: string, options: ConfirmationOptions) => Promise<string>
  /** The same for a phone number. */
  readonly changePhone: (changer: Changer, phone: string) => Promise<string>
  /** Checks and uses up the code of GET /reauthenticate. @throws AuthError 422 `reauthentication_not_valid` */
  readonly useNonce: (userId: string, nonce: string) => Promise<void>
}
