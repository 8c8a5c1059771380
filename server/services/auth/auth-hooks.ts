// Hooks: functions of the database, or HTTP calls, that the owner has configured.

/** What started the request that the hook is called in. */
export type HookMetadata = { readonly ip: string | null }

/** A hook is undefined unless it is enabled. */
export type AuthHooks = {
  /**
   * Changes the claims of an access token.
   *
   * @param payload the claims as JSON text
   * @throws AuthError as the hook says, or 500 if it fails
   */
  readonly customAccessToken: ((payload: string, method: string) => Promise<string>) | undefined
  /** @param user the user object as JSON text. @throws AuthError if the hook rejects the user */
  readonly beforeUserCreated: ((user: string, metadata: HookMetadata) => Promise<void>) | undefined
  readonly afterUserCreated: ((user: string, metadata: HookMetadata) => Promise<void>) | undefined
  /** @throws AuthError if the hook rejects the attempt */
  readonly passwordVerificationAttempt: ((attempt: PasswordAttempt) => Promise<void>) | undefined
  /** @throws AuthError if the hook rejects the attempt */
  readonly mfaVerificationAttempt: ((attempt: FactorAttempt) => Promise<void>) | undefined
  /** Replaces the mail server. */
  readonly sendEmail: ((payload: string) => Promise<void>) | undefined
  /** Without it, there is no way to send messages. */
  readonly sendSms: ((payload: string) => Promise<void>) | undefined
}

export type PasswordAttempt = { readonly userId: string; readonly valid: boolean }

export type FactorAttempt = {
  readonly userId: string
  readonly factorId: string
  readonly factorType: string
  readonly valid: boolean
}

/** No hook is enabled. */
export const noHooks: AuthHooks = {
  customAccessToken: undefined,
  beforeUserCreated: undefined,
  afterUserCreated: undefined,
  passwordVerificationAttempt: undefined,
  mfaVerificationAttempt: undefined,
  sendEmail: undefined,
  sendSms: undefined,
}
