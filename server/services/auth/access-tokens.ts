// Access tokens: signed and verified with the keys of the settings.
import type { AccessClaims } from './auth-caller.ts'

export type AccessTokens = {
  /**
   * Signs claims.
   *
   * @param payload the claims as JSON text, which keeps all digits of numbers
   * @throws AuthError 500 if no key can sign
   */
  readonly sign: (payload: string) => Promise<string>
  /** @throws AuthError 403 `bad_jwt` */
  readonly verify: (token: string) => Promise<AccessClaims>
  /** The public keys as JSON text: `{"keys": […]}`. */
  readonly jwks: () => string
}
