// `/auth/me` and `/auth/sessions`: the account of the signed-in user.
import type { IncomingMessage } from 'node:http'
import { clientAddress, clientNetwork } from '../../http/client-address.ts'
import { Failure, failures } from '../../http/envelope.ts'
import { uuidParameter } from '../../http/path-id.ts'
import { defineEnvelopeRoute } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { changeAccount, deleteAccount, findPassword, normalisedEmail, userDto } from './account.ts'
import type { AccountRules } from './account-rules.ts'
import { addressTaken, clearsCookie, tooMany } from './account-response.ts'
import type { AttemptLimits } from './attempt-limit.ts'
import type { Passwords } from './password.ts'
import { workClient } from './work-client.ts'
import { attemptPassword } from './password-attempt.ts'
import { endingSession, signedIn } from './session-access.ts'
import { clearSessionCookies } from './session-cookie.ts'
import { listSessions, revokeNamedSessions, type Session, type SessionSettings } from './session.ts'

export type AccountSettings = SessionSettings & {
  readonly passwords: Passwords
  readonly limits: AttemptLimits
  readonly rules: AccountRules
}

/** `schemas/update-account-dto.json` and `schemas/delete-account-dto.json`. */
type UpdateAccountDto = { readonly currentPassword: string; readonly email?: string; readonly password?: string }
type DeleteAccountDto = { readonly password: string }

export function accountRoutes(settings: AccountSettings): readonly Route[] {
  const { query, passwords, limits, rules, trustedProxies } = settings

  /** Checks the password of the signed-in account, and returns its hash. */
  async function confirmPassword(request: IncomingMessage, { account }: Session, password: string): Promise<string> {
    const { id, email } = account
    const attempt = { password, address: normalisedEmail(email), network: clientNetwork(request, trustedProxies) }
    const owner = await attemptPassword(
      { passwords: passwords.for(workClient(request, trustedProxies)), limits, reportAttempt: rules.reportAttempt },
      attempt,
      async () => ({ id, passwordHash: await findPassword(query, id) }),
    )
    if (!owner) throw failures.wrongPassword()
    return owner.passwordHash
  }

  return [
    defineEnvelopeRoute({
      method: 'get',
      path: '/auth/me',
      id: 'showAccount',
      tag: 'accounts',
      summary: 'Your account',
      access: signedIn(settings),
      success: success(200, 'The account.', dto('OwnAccountDto')),
      handler: ({ caller: { account, appRole, registeredAt } }) => ({
        details: { ...userDto(account), appRole, createdAt: registeredAt },
      }),
    }),
    defineEnvelopeRoute({
      method: 'patch',
      path: '/auth/me',
      id: 'changeAccount',
      tag: 'accounts',
      summary: 'Change your e-mail address or password',
      description:
        'A new password ends all other sessions. A new address is used at once, but is no claim of yours until you have confirmed it.',
      access: signedIn(settings),
      body: dto<UpdateAccountDto>('UpdateAccountDto'),
      success: success(200, 'The account as it is now.', dto('OwnAccountDto')),
      errors: {
        403: failure(
          'The current password is wrong, a second factor was not verified, or the request comes from a page of another site.',
        ),
        409: addressTaken,
        429: tooMany,
      },
      handler: async ({ caller, body, request }) => {
        const { id: userId, email: oldEmail } = caller.account
        if (body.password !== undefined) rules.admitPassword(body.password)
        const passwordHash = await confirmPassword(request, caller, body.currentPassword)
        const hashing = passwords.for(workClient(request, trustedProxies))
        const newPasswordHash = body.password === undefined ? undefined : await hashing.hash(body.password)
        const tellOwner = await rules.watchChange(request, userId)
        const changed = await changeAccount(query, {
          userId,
          sessionId: caller.id,
          passwordHash,
          newPasswordHash,
          email: body.email === undefined ? undefined : normalisedEmail(body.email),
          confirms: rules.confirmsAddresses(),
          ip: clientAddress(request, trustedProxies),
        })
        if (!changed) throw failures.wrongPassword()
        const hasNewAddress = changed.email !== normalisedEmail(oldEmail)
        tellOwner({ hasNewPassword: newPasswordHash !== undefined, hasNewAddress })
        if (hasNewAddress) {
          rules.addressChanged(request, { id: userId, passwordHash: newPasswordHash ?? passwordHash })
        }
        const { createdAt } = changed
        return { details: { ...userDto(changed), appRole: caller.appRole, createdAt } }
      },
    }),
    defineEnvelopeRoute({
      method: 'delete',
      path: '/auth/me',
      id: 'deleteAccount',
      tag: 'accounts',
      summary: 'Delete your account and all its data',
      description: 'Your files are deleted, too: their addresses and signed URLs end at once.',
      access: endingSession(settings),
      body: dto<DeleteAccountDto>('DeleteAccountDto'),
      success: done('The account was deleted.', clearsCookie),
      errors: {
        403: failure(
          'The password is wrong, a second factor was not verified, or the request comes from a page of another site.',
        ),
        429: tooMany,
      },
      handler: async ({ caller, body, request, response }) => {
        const passwordHash = await confirmPassword(request, caller, body.password)
        const ip = clientAddress(request, trustedProxies)
        const deletion = { userId: caller.account.id, sessionId: caller.id, passwordHash, ip }
        if (!(await deleteAccount(query, deletion))) throw failures.wrongPassword()
        clearSessionCookies(response, settings)
        return { message: 'user deleted successfully' }
      },
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/auth/sessions',
      id: 'listSessions',
      tag: 'accounts',
      summary: 'Your sessions, newest first, at most 100',
      description: 'Both those that began here and those of `/auth/v1`.',
      access: signedIn(settings),
      success: success(200, 'The sessions that have not ended.', { type: 'array', items: dto('SessionDto') }),
      handler: async ({ caller }) => {
        const sessions = await listSessions(caller.account.id, settings)
        return {
          details: sessions.map((session) => ({ ...session, current: session.id === caller.id })),
        }
      },
    }),
    defineEnvelopeRoute({
      method: 'delete',
      path: '/auth/sessions/{id}',
      id: 'revokeSessions',
      tag: 'accounts',
      summary: 'End one of your sessions, or all others',
      access: signedIn(settings),
      pathParameters: {
        id: uuidParameter('Id of the session; `others` for all but the session of this request.', 'others'),
      },
      success: success(200, 'The number of sessions that were ended.', dto('RevokedSessionsDto')),
      errors: {
        403: failure(
          'A second factor was not verified, which ending other sessions requires, or the request comes from a page of another site.',
        ),
        404: failure('The caller has no such session.'),
      },
      handler: async ({ caller, path: { id }, response }) => {
        const revoked = await revokeNamedSessions(caller, id, query)
        if (revoked === 0 && id !== 'others') throw new Failure(404, 'You have no such session')
        if (id === caller.id) clearSessionCookies(response, settings)
        return { details: { revoked } }
      },
    }),
  ]
}
