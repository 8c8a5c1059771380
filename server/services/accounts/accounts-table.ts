// `/auth`: signing up, signing in, signing out, tokens; and the account itself.
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { crossOrigin } from '../../http/cross-origin.ts'
import type { RouteTable } from '../../http/route-router.ts'
import type { TokenSettings } from './access-token.ts'
import { accountRoutes } from './account-routes.ts'
import { createAttemptLimits } from './attempt-limit.ts'
import { createPasswords } from './password.ts'
import type { SessionSettings } from './session.ts'
import { signInRoutes } from './sign-in-routes.ts'

export type AccountsSettings = SessionSettings & {
  /** Wrong passwords for one account from one network in a quarter of an hour. */
  readonly accountLimit: number
  /** Wrong passwords for one account from all networks together. */
  readonly accountTotalLimit: number
  /** Wrong passwords from one network, and registrations. */
  readonly addressLimit: number
  /** Proxies in front of this server that add to `X-Forwarded-For`. */
  readonly trustedProxies: number
  /** Origins beside our own whose pages may use the service; read at each request. */
  readonly allowedOrigins: () => readonly string[]
  /** Read at each token. */
  readonly tokens: () => TokenSettings
}

/** The routes of `/auth`. The limits of password attempts are shared by all of them. */
export function accountsTable(settings: AccountsSettings): RouteTable {
  const parts = { ...settings, passwords: createPasswords(), limits: createAttemptLimits(settings) }
  return {
    guards: [requireBearerScheme, crossOrigin(settings.allowedOrigins)],
    routes: [...signInRoutes(parts), ...accountRoutes(parts)],
  }
}
