// `/auth`: signing up, signing in, signing out, tokens; and the account itself.
import express, { type Router } from 'express'
import type { Validator } from '../../validation/validator.ts'
import { accessTokens, type TokenSettings } from './access-token.ts'
import { createAccount, findAccount, normalisedEmail, userDto } from './account.ts'
import { accountRouter } from './account-router.ts'
import { createAttemptLimits } from './attempt-limit.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { crossOrigin } from '../../http/cross-origin.ts'
import { errorResponder, Failure, failures, methodNotAllowed, notFound, sendSuccess } from '../../http/envelope.ts'
import { databaseFailure } from '../database-failure.ts'
import { bodyReader } from '../../http/json-body.ts'
import { createPasswords } from './password.ts'
import { clearSessionCookies } from './session-cookie.ts'
import {
  beginSession,
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
  /** Gets the errors that are not the client's doing, to be logged. */
  readonly onError: (error: unknown) => void
}

/** `schemas/sign-up-dto.json` and `schemas/sign-in-dto.json`. */
type SignInDto = { readonly email: string; readonly password: string }
type SignUpDto = SignInDto & { readonly firstName: string; readonly lastName?: string }

/**
 * The routes below the mount path, each response in the envelope:
 * `POST /signup` 201 with the cookie, 409; `POST /signin` 200 with the cookie, 401; `POST /signout` 200, 401;
 * `POST /token` 200, 401; `/me` and `/sessions`: see `accountRouter`. Those that take a password: 429 after too many
 * wrong ones, 503 when too many requests wait for their hash.
 */
export function accountsRouter(settings: AccountsSettings): Router {
  const { query, validator, trustedProxies } = settings
  const validateSignUp = validator.forDto('urn:rowhouse:SignUpDto')
  const validateSignIn = validator.forDto('urn:rowhouse:SignInDto')
  const readBody = bodyReader(settings.bodyLimit)
  const passwords = createPasswords()
  const limits = createAttemptLimits(settings)
  const createToken = accessTokens(settings.tokens)
  const router = express.Router()
  router.use(crossOrigin(settings.allowedOrigins))

  router
    .route('/signup')
    .post(async (request, response) => {
      if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
      const dto = await readBody<SignUpDto>(request, response, validateSignUp)
      const email = normalisedEmail(dto.email)
      await limits.register(email, clientNetwork(request, trustedProxies))
      const passwordHash = await passwords.hash(dto.password)
      const { firstName, lastName = null } = dto
      const account = await createAccount(query, { email, passwordHash, firstName, lastName })
      if (!account) throw failures.addressTaken()
      if (!(await beginSession(response, account.id, passwordHash, settings))) throw failures.notSignedIn()
      await revokeSessionsOf(request, settings)
      sendSuccess(response, 201, { details: userDto(account) })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/signin')
    .post(async (request, response) => {
      if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
      const dto = await readBody<SignInDto>(request, response, validateSignIn)
      const email = normalisedEmail(dto.email)
      const attempt = await limits.guess(email, clientNetwork(request, trustedProxies))
      const account = await findAccount(query, email)
      const right = await passwords.verify(account?.passwordHash, dto.password)
      if (!account || !right) throw failures.wrongCredentials()
      if (!(await beginSession(response, account.id, account.passwordHash, settings))) throw failures.wrongCredentials()
      await revokeSessionsOf(request, settings)
      await attempt.giveBack()
      sendSuccess(response, 200, { message: 'user signed in successfully', details: userDto(account) })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/signout')
    .post(async (request, response) => {
      try {
        await revokeSession(await sessionToEnd(request, settings), query)
      } catch (error) {
        // A cookie of no session is taken away, too; one that cannot be looked up now is not.
        if (error instanceof Failure && error.statusCode === 401) clearSessionCookies(response, settings)
        throw error
      }
      clearSessionCookies(response, settings)
      sendSuccess(response, 200, { message: 'user logged out successfully' })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/token')
    .post(async (request, response) => {
      const session = await currentSession(request, response, settings)
      sendSuccess(response, 200, { details: await createToken(session) })
    })
    .all(methodNotAllowed('POST'))

  router.use(accountRouter({ ...settings, readBody, passwords, limits }))
  router.use(notFound)
  router.use(errorResponder(settings.onError, databaseFailure))
  return router
}
