// `/auth`: registering, signing in, signing out, tokens; and the account itself.
import express, { type Router } from 'express'
import type { Validator } from '../validation/validator.ts'
import { accessTokens, type TokenSettings } from './access-token.ts'
import { createAccount, findAccount, normalisedEmail } from './account.ts'
import { accountRouter } from './account-router.ts'
import { createAttemptLimits } from './attempt-limit.ts'
import { clientNetwork } from './client-address.ts'
import { crossOrigin } from './cross-origin.ts'
import { errorResponder, Failure, failures, methodNotAllowed, notFound, sendSuccess } from './envelope.ts'
import { bodyReader } from './json-body.ts'
import { createPasswords } from './password.ts'
import {
  beginSession,
  clearSessionCookie,
  currentSession,
  revokeSession,
  revokeSessionsOf,
  sessionToEnd,
  type SessionSettings,
} from './session.ts'

export type AccountsSettings = SessionSettings & {
  readonly validator: Validator
  /** Bytes. */
  readonly bodyLimit: number
  /** Wrong passwords for one account in a quarter of an hour. */
  readonly accountLimit: number
  /** Wrong passwords from one address, and registrations, in a quarter of an hour. */
  readonly addressLimit: number
  /** Proxies in front of this server that add to `X-Forwarded-For`. */
  readonly trustedProxies: number
  /** Origins beside our own whose pages may use the service; read at each request. */
  readonly allowedOrigins: () => readonly string[]
  /** Read at each token. */
  readonly tokens: () => TokenSettings
  /** Gets the errors that are not the client's doing, to be logged. */
  readonly onError: (error: unknown) => void
}

/** `schemas/register-dto.json` and `schemas/sign-in-dto.json`. */
type Credentials = { readonly email: string; readonly password: string }

/**
 * The routes below the mount path, with every answer in the envelope:
 * `POST /register` 201, 409; `POST /sign-in` 200 with the cookie, 401; `POST /sign-out` 200, 401; `POST /token` 200, 401;
 * `/me` and `/sessions`: see `accountRouter`. Those that take a password: 429 after too many wrong ones, 503 when too
 * many are at it.
 */
export function accountsRouter(settings: AccountsSettings): Router {
  const { query, validator, trustedProxies } = settings
  const validateRegister = validator.forDto('urn:rowhouse:RegisterDto')
  const validateSignIn = validator.forDto('urn:rowhouse:SignInDto')
  const readBody = bodyReader(settings.bodyLimit)
  const passwords = createPasswords()
  const limits = createAttemptLimits(settings)
  const createToken = accessTokens(settings.tokens)
  const router = express.Router()
  router.use(crossOrigin(settings.allowedOrigins))

  router
    .route('/register')
    .post(async (request, response) => {
      const { email, password } = await readBody<Credentials>(request, response, validateRegister)
      await limits.register(normalisedEmail(email), clientNetwork(request, trustedProxies))
      const account = await createAccount(query, normalisedEmail(email), await passwords.hash(password))
      if (!account) throw failures.addressTaken()
      sendSuccess(response, 201, { id: account.id, email: account.email, created_at: account.createdAt })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/sign-in')
    .post(async (request, response) => {
      if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
      const { email, password } = await readBody<Credentials>(request, response, validateSignIn)
      const attempt = await limits.guess(normalisedEmail(email), clientNetwork(request, trustedProxies))
      const account = await findAccount(query, normalisedEmail(email))
      const right = await passwords.verify(account?.passwordHash, password)
      if (!account || !right) throw failures.wrongCredentials()
      if (!(await beginSession(response, account.id, account.passwordHash, settings))) throw failures.wrongCredentials()
      await revokeSessionsOf(request, settings)
      await attempt.giveBack()
      sendSuccess(response, 200, { id: account.id, email: account.email })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/sign-out')
    .post(async (request, response) => {
      try {
        await revokeSession(await sessionToEnd(request, settings), query)
      } catch (error) {
        // A cookie that is good for nothing is taken away, too; one that cannot be looked up now is not.
        if (error instanceof Failure && error.statusCode === 401) clearSessionCookie(response, settings)
        throw error
      }
      clearSessionCookie(response, settings)
      sendSuccess(response, 200, null)
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/token')
    .post(async (request, response) => {
      const session = await currentSession(request, response, settings)
      sendSuccess(response, 200, await createToken(session))
    })
    .all(methodNotAllowed('POST'))

  router.use(accountRouter({ ...settings, readBody, passwords, limits }))
  router.use(notFound)
  router.use(errorResponder(settings.onError))
  return router
}
