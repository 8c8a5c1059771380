// Hooks: functions of the database, or HTTP calls, that the owner has configured.

/** What started the request that the hook is called in. */
export type HookMetadata = { readonly ip: string | null }

export type AuthHooks = {
  /**
   * Changes the claims of an access token. Returns `payload` if the hook is not enabled.
   *
   * @param payload the claims as JSON text
   * @throws AuthError as the hook says, or 500 if it fails
   */
  readonly customAccessToken: (payload: string, method: string) => Promise<string>
  /** @param user the user object as JSON text. @throws AuthError if the hook rejects the user */
  readonly beforeUserCreated: (user: string, metadata: HookMetadata) => Promise<void>
  readonly afterUserCreated: (user: string, metadata: HookMetadata) => Promise<void>
  /** @throws AuthError if the hook rejects the attempt */
  readonly passwordVerificationAttempt: (attempt: { readonly userId: string; readonly valid: boolean }) => Promise<void>
  /** @throws AuthError if the hook rejects the attempt */
  readonly mfaVerificationAttempt: (attempt: {
    readonly userId: string
    readonly factorId: string
    readonly factorType: string
    readonly valid: boolean
  }) => Promise<void>
  /** Undefined unless the hook is enabled. Replaces the mail server. */
  readonly sendEmail: ((payload: string) => Promise<void>) | undefined
  /** Undefined unless the hook is enabled: then there is no way to send messages. */
  readonly sendSms: ((payload: string) => Promise<void>) | undefined
}

/** No hook is enabled. */
export const noHooks: AuthHooks = {
  customAccessToken: (payload) => Promise.resolve(payload),
  beforeUserCreated: () => Promise.resolve(),
  afterUserCreated: () => Promise.resolve(),
  passwordVerificationAttempt: () => Promise.resolve(),
  mfaVerificationAttempt: () => Promise.resolve(),
  sendEmail: undefined,
  sendSms: undefined,
}
