// `/auth`: registering, signing in, signing out.
import express, { type Router } from 'express'
import type { Validator } from '../validation/validator.ts'
import { createAccount, findAccount } from './account.ts'
import { errorResponder, Failure, failures, methodNotAllowed, notFound, sendSuccess } from './envelope.ts'
import { bodyReader } from './json-body.ts'
import { createPasswordVerifier, hashPassword } from './password.ts'
import { beginSession, clearSessionCookie, currentSession, revokeSession, type SessionSettings } from './session.ts'

export type AccountsSettings = SessionSettings & {
  readonly validator: Validator
  /** Bytes. */
  readonly bodyLimit: number
  /** Gets the errors that are not the client's doing, to be logged. */
  readonly onError: (error: unknown) => void
}

/** `schemas/register-dto.json` and `schemas/sign-in-dto.json`. */
type Credentials = { readonly email: string; readonly password: string }

/**
 * The routes below the mount path, with every answer in the envelope:
 * `POST /register` 201, 409; `POST /sign-in` 200 with the cookie, 401; `POST /sign-out` 200, 401.
 */
export function accountsRouter(settings: AccountsSettings): Router {
  const { query, validator } = settings
  const validateRegister = validator.forDto('urn:rowhouse:RegisterDto')
  const validateSignIn = validator.forDto('urn:rowhouse:SignInDto')
  const readBody = bodyReader(settings.bodyLimit)
  const verifyPassword = createPasswordVerifier()
  const router = express.Router()

  router
    .route('/register')
    .post(async (request, response) => {
      const { email, password } = await readBody<Credentials>(request, response, validateRegister)
      const account = await createAccount(query, normalised(email), await hashPassword(password))
      if (!account) throw new Failure(409, 'This e-mail address is already registered')
      sendSuccess(response, 201, { id: account.id, email: account.email, created_at: account.createdAt })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/sign-in')
    .post(async (request, response) => {
      if (settings.sessionSecrets.length === 0) throw failures.noSecrets()
      const { email, password } = await readBody<Credentials>(request, response, validateSignIn)
      const account = await findAccount(query, normalised(email))
      const right = await verifyPassword(account?.passwordHash, password)
      if (!account || !right) throw new Failure(401, 'The e-mail address or the password is wrong')
      await beginSession(response, account.id, settings)
      sendSuccess(response, 200, { id: account.id, email: account.email })
    })
    .all(methodNotAllowed('POST'))

  router
    .route('/sign-out')
    .post(async (request, response) => {
      try {
        await revokeSession(await currentSession(request, settings), query)
      } catch (error) {
        // A cookie that is good for nothing is taken away, too; one that cannot be looked up now is not.
        if (error instanceof Failure && error.statusCode === 401) clearSessionCookie(response, settings)
        throw error
      }
      clearSessionCookie(response, settings)
      sendSuccess(response, 200, null)
    })
    .all(methodNotAllowed('POST'))

  router.use(notFound)
  router.use(errorResponder(settings.onError))
  return router
}

/** The schema lets ASCII alone through, whose case is the same everywhere. */
const normalised = (email: string): string => email.toLowerCase()
