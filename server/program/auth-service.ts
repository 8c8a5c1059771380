// The sign-in service at `/auth/v1`, beside the cookie service at `/auth`.
import express, { type Router } from 'express'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/load.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import type { ApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import type { JwtSettings, JwtVerifier } from '../identity/jwt/jwt.ts'
import { verificationSecret } from '../identity/jwt/key-set.ts'
import { TokenSigner } from '../identity/jwt/token-signer.ts'
import type { Database } from '../postgres/database.ts'
import { createAttemptLimits } from '../services/accounts/attempt-limit.ts'
import { createPasswords } from '../services/accounts/password.ts'
import { createAuth, type AuthOptions, type AuthService } from '../services/auth/create-auth.ts'
import type { Handler } from './app.ts'
import { embeddedVariable } from './embedded-environment.ts'
import { workerIndex } from './workers.ts'

/** The settings of the verifier, with the keys of `/auth/v1` beside those of PostgREST's setting. */
export const verifierSettings = (config: Config): JwtSettings => ({
  ...config,
  jwtSecret: verificationSecret(config),
})

/**
 * What the cookie door and `/auth/v1` share: the queue of passwords, the limits of wrong ones, and the signer of tokens.
 *
 * @param current the settings, whose keys can be reloaded
 */
export function sharedSignIn(
  current: () => Config,
  { query }: Database,
): Pick<AuthOptions, 'passwords' | 'attempts' | 'signer'> {
  const { authAccountLimit: accountLimit, authAccountTotalLimit: accountTotalLimit } = current()
  return {
    passwords: createPasswords(),
    attempts: createAttemptLimits({ query, accountLimit, accountTotalLimit, addressLimit: current().authAddressLimit }),
    signer: new TokenSigner(current),
  }
}

export type ProgramAuthOptions = Pick<
  AuthOptions,
  'database' | 'passwords' | 'attempts' | 'signer' | 'validator' | 'allowedOrigins' | 'onError' | 'warn' | 'print'
> & {
  /** The settings at the start. */
  readonly config: Config
  readonly env: Environment
  readonly current: () => { readonly config: Config; readonly verifier: JwtVerifier }
  readonly lookupApiKey: ApiKeyLookup
}

export function startAuth({ config, env, current, ...options }: ProgramAuthOptions): AuthService {
  const auth = createAuth({
    ...options,
    settings: () => current().config,
    verifier: () => current().verifier,
    trustedProxies: config.trustedProxies,
    isDevelopment: env[embeddedVariable] !== undefined && listensOnLoopback(config),
    ownOrigin: `http://localhost:${config.serverPort}`,
  })
  // Reports problems of the mail server and of templates, once for all workers.
  if ((workerIndex() ?? 0) === 0) void auth.context.mailer.check()
  return auth
}

/** Mounts `/auth/v1` before the other routes below `/auth`. */
export function withAuth(
  services: ReadonlyMap<string, Router | Handler>,
  auth: Pick<AuthService, 'router'>,
): ReadonlyMap<string, Router | Handler> {
  const router = express.Router()
  router.use('/v1', auth.router)
  const cookieDoor = services.get('auth')
  if (cookieDoor) router.use(cookieDoor)
  return new Map([...services, ['auth', router]])
}
