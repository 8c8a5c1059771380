// The sign-in service at `/auth/v1`, beside the cookie service at `/auth`.
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/config-sources.ts'
import type { Router } from '../http/router.ts'
import type { JwtSettings, JwtVerifier } from '../identity/jwt/jwt.ts'
import { verificationSecret } from '../identity/jwt/key-set.ts'
import { TokenSigner } from '../identity/jwt/token-signer.ts'
import type { AccountsSettings } from '../services/accounts/accounts-table.ts'
import { databaseLimits } from '../services/limits.ts'
import { createAttemptLimits } from '../services/accounts/attempt-limit.ts'
import type { PasswordHasher } from '../services/accounts/hash-processes.ts'
import { createPasswords } from '../services/accounts/password.ts'
import type { SessionSettings } from '../services/accounts/session.ts'
import { cookieRules } from '../services/auth/cookie-rules.ts'
import { createAuth, type AuthOptions, type AuthService } from '../services/auth/create-auth.ts'
import { createTokenDoor } from '../services/auth/token-door.ts'
import { isDevelopment } from './embedded-environment.ts'
import { workerIndex } from './workers.ts'

/** The settings of the verifier, with the keys of `/auth/v1` beside those of PostgREST's setting. */
export const verifierSettings = (config: Config): JwtSettings => ({
  ...config,
  jwtSecret: verificationSecret(config),
})

export type SignInOptions = Pick<
  AuthOptions,
  'database' | 'lookupApiKey' | 'validator' | 'allowedOrigins' | 'onError' | 'warn' | 'print'
> & {
  /** The settings at the start. */
  readonly config: Config
  readonly env: Environment
  /** Read at each request, because the settings, with their keys, can be reloaded. */
  readonly current: () => { readonly config: Config; readonly verifier: JwtVerifier }
  /** See `ServiceOptions`. */
  readonly passwordHasher: PasswordHasher | undefined
}

/** The settings of the cookie service that do not belong to its sessions. */
type AccountsParts = Omit<AccountsSettings, keyof SessionSettings>

/**
 * Starts `/auth/v1`. The cookie service shares with it the queue of passwords, the limits of wrong ones, and the signer of
 * tokens.
 *
 * @throws HookSettingError
 */
export function startSignIn({ config, env, current, passwordHasher, ...options }: SignInOptions): {
  readonly auth: AuthService
  readonly accounts: AccountsParts
} {
  const { authAccountLimit: accountLimit, authAccountTotalLimit: accountTotalLimit } = config
  const { database, allowedOrigins } = options
  const addressLimit = config.authAddressLimit
  const passwords = createPasswords({ waitingOfNetwork: config.authWaitingLimit }, passwordHasher)
  const limits = databaseLimits(database.query, options.warn)
  const attempts = createAttemptLimits({ limits, accountLimit, accountTotalLimit, addressLimit })
  const signer = new TokenSigner(() => current().config)
  const auth = createAuth({
    ...options,
    passwords,
    attempts,
    limits,
    signer,
    settings: () => current().config,
    keys: () => current().config,
    verifier: () => current().verifier,
    trustedProxies: config.trustedProxies,
    isDevelopment: isDevelopment(config, env),
    ownOrigin: `http://localhost:${config.serverPort}`,
  })
  // Reports problems of the settings, the mail server and templates, once for all workers.
  if ((workerIndex() ?? 0) === 0) {
    for (const issuer of auth.context.providers.issuersWithoutClients()) {
      options.warn(
        `GOTRUE_EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS: tokens of ${issuer} are refused, because no provider has it as ` +
          'GOTRUE_EXTERNAL_<PROVIDER>_URL and client ids in GOTRUE_EXTERNAL_<PROVIDER>_CLIENT_ID',
      )
    }
    void auth.context.mailer.check()
  }
  const accounts: AccountsParts = {
    passwords,
    limits: attempts,
    signer,
    allowedOrigins,
    tokenDoor: createTokenDoor(auth.context),
    rules: cookieRules(auth.context),
    tokens: () => current().config,
  }
  return { auth, accounts }
}

/** Paths of the metadata of the issuer whose path is `/auth/v1`: RFC 8414, section 3.1. */
const metadataPath = /^\/(oauth-authorization-server|openid-configuration)\/auth\/v1\/?(?=\?|$)/

/** Adds `/auth/v1` to the other routes below `/auth`, and its metadata to those of `/.well-known`. */
export function withAuth(
  services: ReadonlyMap<string, Router>,
  auth: Pick<AuthService, 'router'>,
): ReadonlyMap<string, Router> {
  const cookieDoor = services.get('auth')
  const router: Router = (request, response, target, next) => {
    if (/^\/v1(?:[/?]|$)/.test(target)) auth.router(request, response, target.slice('/v1'.length), next)
    else if (cookieDoor) cookieDoor(request, response, target, next)
    else next?.()
  }
  const others = services.get('.well-known')
  const metadata: Router = (request, response, target, next) => {
    const [, name] = metadataPath.exec(target) ?? []
    if (name !== undefined) auth.router(request, response, `/.well-known/${name}`, next)
    else if (others) others(request, response, target, next)
    else next?.()
  }
  return new Map([...services, ['auth', router], ['.well-known', metadata]])
}
