// `/auth/me` and `/auth/sessions`: the account of the signed-in user.
import express, { type Request, type Router } from 'express'
import type { Validator } from '../../validation/validator.ts'
import { changeAccount, deleteAccount, findPasswordHash, normalisedEmail, userDto } from './account.ts'
import type { AttemptLimits } from './attempt-limit.ts'
import { clientNetwork } from '../../http/client-address.ts'
import { Failure, failures, methodNotAllowed, sendSuccess } from '../../http/envelope.ts'
import type { BodyReader } from '../../http/json-body.ts'
import type { Passwords } from './password.ts'
import { uuidIn } from '../../http/path-id.ts'
import { clearSessionCookies } from './session-cookie.ts'
import {
  currentSession,
  listSessions,
  revokeNamedSessions,
  sessionToEnd,
  type Session,
  type SessionSettings,
} from './session.ts'

export type AccountSettings = SessionSettings & {
  readonly validator: Validator
  readonly trustedProxies: number
  readonly readBody: BodyReader
  readonly passwords: Passwords
  readonly limits: AttemptLimits
}

/** `schemas/update-account-dto.json` and `schemas/delete-account-dto.json`. */
type UpdateAccountDto = { readonly currentPassword: string; readonly email?: string; readonly password?: string }
type DeleteAccountDto = { readonly password: string }

/**
 * The routes, each 401 without a session: `GET /me`; `PATCH /me` 409 for an e-mail that is taken, `DELETE /me`, both 403
 * when the password is wrong; `GET /sessions`; `DELETE /sessions/{id}`, with `others` for all but this one.
 */
export function accountRouter(settings: AccountSettings): Router {
  const { query, validator, readBody, passwords, limits, trustedProxies } = settings
  const validateUpdate = validator.forDto('urn:rowhouse:UpdateAccountDto')
  const validateDelete = validator.forDto('urn:rowhouse:DeleteAccountDto')
  const router = express.Router()

  /** The hash that the password was compared with. */
  async function confirmPassword(request: Request, { account }: Session, password: string): Promise<string> {
    const attempt = await limits.guess(normalisedEmail(account.email), clientNetwork(request, trustedProxies))
    const passwordHash = await findPasswordHash(query, account.id)
    const right = await passwords.verify(passwordHash, password)
    if (passwordHash === undefined || !right) throw failures.wrongPassword()
    await attempt.giveBack()
    return passwordHash
  }

  router
    .route('/me')
    .get(async (request, response) => {
      const { account, appRole, registeredAt } = await currentSession(request, response, settings)
      sendSuccess(response, 200, { details: { ...userDto(account), appRole, createdAt: registeredAt } })
    })
    .patch(async (request, response) => {
      const session = await currentSession(request, response, settings)
      const dto = await readBody<UpdateAccountDto>(request, response, validateUpdate)
      const changed = await changeAccount(query, {
        userId: session.account.id,
        sessionId: session.id,
        passwordHash: await confirmPassword(request, session, dto.currentPassword),
        email: dto.email === undefined ? undefined : normalisedEmail(dto.email),
        newPasswordHash: dto.password === undefined ? undefined : await passwords.hash(dto.password),
      })
      if (!changed) throw failures.wrongPassword()
      const { createdAt } = changed
      sendSuccess(response, 200, { details: { ...userDto(changed), appRole: session.appRole, createdAt } })
    })
    .delete(async (request, response) => {
      const session = await sessionToEnd(request, settings)
      const { password } = await readBody<DeleteAccountDto>(request, response, validateDelete)
      const passwordHash = await confirmPassword(request, session, password)
      if (!(await deleteAccount(query, session.account.id, passwordHash))) throw failures.wrongPassword()
      clearSessionCookies(response, settings)
      sendSuccess(response, 200, { message: 'user deleted successfully' })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'PATCH', 'DELETE'))

  router
    .route('/sessions')
    .get(async (request, response) => {
      const session = await currentSession(request, response, settings)
      const sessions = await listSessions(session.account.id, query)
      sendSuccess(response, 200, {
        details: sessions.map(({ id, createdAt, expiresAt }) => ({
          id,
          createdAt,
          expiresAt,
          current: id === session.id,
        })),
      })
    })
    .all(methodNotAllowed('GET', 'HEAD'))

  router
    .route('/sessions/:id')
    .delete(async (request, response) => {
      const session = await currentSession(request, response, settings)
      const id = request.params.id === 'others' ? 'others' : uuidIn(request.params.id)
      const revoked = await revokeNamedSessions(session, id, query)
      if (revoked === 0 && id !== 'others') throw new Failure(404, 'You have no such session')
      if (id === session.id) clearSessionCookies(response, settings)
      sendSuccess(response, 200, { details: { revoked } })
    })
    .all(methodNotAllowed('DELETE'))

  return router
}
