// `/auth`: sign up, sign in, sign out, get tokens, manage the account.
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { crossOrigin } from '../../http/cross-origin.ts'
import type { RouteTable } from '../../http/router.ts'
import type { TokenSigner } from '../../identity/jwt/token-signer.ts'
import type { TokenSettings } from './access-token.ts'
import { accountRoutes } from './account-routes.ts'
import type { AccountRules } from './account-rules.ts'
import type { AttemptLimits } from './attempt-limit.ts'
import { exchangeRoutes, type TokenDoor } from './exchange-routes.ts'
import type { Passwords } from './password.ts'
import type { SessionSettings } from './session.ts'
import { signInRoutes } from './sign-in-routes.ts'

export type AccountsSettings = SessionSettings & {
  /** Other origins whose pages may use the service; read at each request. */
  readonly allowedOrigins: () => readonly string[]
  /** Shared with `/auth/v1`, like the limits and the signer. */
  readonly passwords: Passwords
  readonly limits: AttemptLimits
  readonly signer: TokenSigner
  /** Sessions of tokens, which `/auth/v1` issues. */
  readonly tokenDoor: TokenDoor
  /** What `/auth/v1` decides about sign-ups, sign-ins and passwords. */
  readonly rules: AccountRules
  /** Read for each token. */
  readonly tokens: () => TokenSettings
}

/** The routes of `/auth`. The limits of password attempts are shared by all of them. */
export function accountsTable(settings: AccountsSettings): RouteTable {
  return {
    guards: [requireBearerScheme, crossOrigin(settings.allowedOrigins)],
    routes: [...signInRoutes(settings), ...exchangeRoutes(settings), ...accountRoutes(settings)],
  }
}
