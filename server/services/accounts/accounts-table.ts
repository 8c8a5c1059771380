// `/auth`: sign up, sign in, sign out, get tokens, manage the account.
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { crossOrigin } from '../../http/cross-origin.ts'
import type { RouteTable } from '../../http/route-router.ts'
import type { TokenSettings } from './access-token.ts'
import { accountRoutes } from './account-routes.ts'
import { createAttemptLimits, type AttemptLimits } from './attempt-limit.ts'
import { exchangeRoutes, type TokenDoor } from './exchange-routes.ts'
import { createPasswords, type Passwords } from './password.ts'
import type { SessionSettings } from './session.ts'
import { signInRoutes } from './sign-in-routes.ts'

export type AccountsSettings = SessionSettings & {
  /** Maximum number of wrong passwords for one account from one network in 15 minutes. */
  readonly accountLimit: number
  /** The same from all networks together. */
  readonly accountTotalLimit: number
  /** Maximum number of wrong passwords, and of registrations, from one network in 15 minutes. */
  readonly addressLimit: number
  /** Other origins whose pages may use the service; read at each request. */
  readonly allowedOrigins: () => readonly string[]
  /** Shared with `/auth/v1`. By default, there are some for this service alone. */
  readonly passwords?: Passwords
  readonly limits?: AttemptLimits
  /** Sessions of tokens, which `/auth/v1` issues. */
  readonly tokenDoor: TokenDoor
  /** Whether nobody may create an account; read at each sign-up. By default, everybody may. */
  readonly isSignUpDisabled?: () => boolean
  /** Read for each token. */
  readonly tokens: () => TokenSettings
}

/** The routes of `/auth`. The limits of password attempts are shared by all of them. */
export function accountsTable(settings: AccountsSettings): RouteTable {
  const { passwords = createPasswords(), limits = createAttemptLimits(settings) } = settings
  const parts = { ...settings, passwords, limits }
  return {
    guards: [requireBearerScheme, crossOrigin(settings.allowedOrigins)],
    routes: [...signInRoutes(parts), ...exchangeRoutes(parts), ...accountRoutes(parts)],
  }
}
