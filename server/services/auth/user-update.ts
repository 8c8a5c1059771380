// Changes of the caller's account: PUT /user.
import { clientNetwork } from '../../http/client-address.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { asciiLowerCase } from '../../text/ascii-case.ts'
import { attemptPassword } from '../accounts/password-attempt.ts'
import { workClient } from '../accounts/work-client.ts'
import { readChannel, readEmail, readPhone } from './addresses.ts'
import { AuthError, authErrors } from './auth-error.ts'
import type { AuthCall, AuthReply } from './dialect.ts'
import { confirmedAddress, notify } from './mail/notices.ts'
import { chosenData } from './metadata.ts'
import { checkPassword } from './password-rules.ts'
import { readChallenge } from './pkce.ts'
import { originOf } from './request-origin.ts'
import { isEmpty } from './request-text.ts'
import { storedHashOf } from './stored-hash.ts'
import { isTaken } from './taken-address.ts'

/** `schemas/auth-update-user-dto.json` */
export type UpdateUserBody = {
  readonly email?: string | null
  readonly phone?: string | null
  readonly password?: string | null
  readonly current_password?: string | null
  readonly nonce?: string | null
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly app_metadata?: Readonly<Record<string, unknown>> | null
  readonly channel?: string | null
  readonly code_challenge?: string | null
  readonly code_challenge_method?: string | null
}

type Call = AuthCall<'user', UpdateUserBody>

const changeAccount = new JsonStatement('select auth.change_account($1, $2, $3, $4, $5, $6, null, $7, $8, $9)', {
  access: 'write',
})

/** Milliseconds after which a session is no longer recent. */
const recent = 24 * 60 * 60 * 1000

/** What the request changes. */
type Change = {
  /** Undefined if it stays. */
  readonly email: string | undefined
  readonly phone: string | undefined
  readonly password: string | undefined
}

/** Handles PUT /user. The order of the checks is GoTrue's. */
export async function updateUser(call: Call): Promise<AuthReply> {
  const { context, caller, body, bodyMembers, request } = call
  const { database, confirmations } = context
  const settings = context.settings()
  const email = isEmpty(body.email) ? undefined : readEmail(body.email)
  const phone = isEmpty(body.phone) ? undefined : readPhone(body.phone)
  if (phone !== undefined) readChannel(body.channel ?? '')
  const password = body.password ?? undefined
  if (password !== undefined) checkPassword(password, settings)
  const pkce = readChallenge(body.code_challenge, body.code_challenge_method)
  const change: Change = {
    email: email === asciiLowerCase(caller.row.email ?? '') ? undefined : email,
    phone: phone === caller.row.phone ? undefined : phone,
    password,
  }
  requireRights(call, change)
  await requireFreeAddresses(call, change)
  const hashes = password === undefined ? undefined : await newHash(call, password)
  // An anonymous user may take an address as in a sign-up; a permanent one always confirms it.
  const takesEmail = change.email !== undefined && caller.row.is_anonymous && settings.authMailerAutoconfirm
  const takesPhone = change.phone !== undefined && settings.authSmsAutoconfirm
  const changer = { userId: caller.id, sessionId: caller.session?.id ?? null }
  const [row] = await database.askRows(changeAccount, [
    caller.id,
    changer.sessionId,
    hashes !== undefined,
    hashes?.old ?? null,
    hashes?.current ?? null,
    chosenData(bodyMembers),
    takesEmail ? (change.email ?? null) : null,
    takesPhone ? (change.phone ?? null) : null,
    originOf(request, context).ip,
  ])
  let text = row?.[0] ?? ''
  if (hashes !== undefined) {
    const to = confirmedAddress(caller.text)
    notify(context, request, text, { kind: 'password_changed' }, { to })
  }
  if (takesPhone) noteNumber(call, text)
  if (change.email !== undefined && !takesEmail) {
    text = await confirmations.changeEmail(changer, change.email, { request, pkce })
  }
  if (change.phone !== undefined && !takesPhone) {
    text = await confirmations.changePhone(changer, change.phone)
  }
  return { text }
}

/** @param user the user object with the new number, as JSON text */
function noteNumber({ context, caller, request }: Call, user: string): void {
  const { phone: oldPhone } = caller.row
  if (isEmpty(oldPhone)) notify(context, request, user, { kind: 'identity_linked', provider: 'phone' })
  else notify(context, request, user, { kind: 'phone_changed', oldPhone })
}

function requireRights({ caller: { row, session }, body }: Call, { email, phone, password }: Change): void {
  if (body.app_metadata !== undefined && body.app_metadata !== null) {
    throw new AuthError(403, 'not_admin', 'Updating app_metadata requires admin privileges')
  }
  const isSensitive = password !== undefined || email !== undefined || phone !== undefined
  if (row.has_verified_factor && session?.aal !== 'aal2' && session?.aal !== 'aal3' && isSensitive) {
    throw authErrors.insufficientAal(401, 'AAL2 session is required to update email or password when MFA is enabled.')
  }
  if (row.is_anonymous && password !== undefined && isEmpty(body.email) && isEmpty(body.phone)) {
    throw new AuthError(
      422,
      'validation_failed',
      'Updating password of an anonymous user without an email or phone is not allowed',
    )
  }
  if (row.is_sso_user && (isSensitive || !isEmpty(body.nonce))) {
    throw new AuthError(
      422,
      'user_sso_managed',
      'Updating email, phone, password of a SSO account only possible via SSO',
    )
  }
}

async function requireFreeAddresses({ context, caller }: Call, { email, phone }: Change): Promise<void> {
  const { database } = context
  if (email !== undefined && (await isTaken(database, { email }, caller.id))) throw authErrors.emailExists()
  if (phone !== undefined && (await isTaken(database, { phone }, caller.id))) throw authErrors.phoneExists()
}

/** Checks what a new password requires. Returns its hash, and the one that it replaces. */
async function newHash(
  call: Call,
  password: string,
): Promise<{ readonly old: string | null; readonly current: string }> {
  const { context, caller, body } = call
  const { database, confirmations, now } = context
  const passwords = context.passwords.for(workClient(call.request, context.trustedProxies))
  const settings = context.settings()
  const { session } = caller
  if (settings.authUpdatePasswordRequireReauthentication) {
    const isRecent = session !== null && now() - Date.parse(session.created_at) < recent
    if (!isRecent) {
      if (isEmpty(body.nonce)) {
        throw new AuthError(400, 'reauthentication_needed', 'Password update requires reauthentication')
      }
      const guess = await context.limits.guessCode(subjectOf(call), call.request)
      await confirmations.useNonce(caller.id, body.nonce)
      await guess.giveBack()
    }
  }
  const old = caller.row.has_password ? await storedHashOf(database, caller.id).find() : undefined
  if (!isEmpty(old)) {
    if (settings.authUpdatePasswordRequireCurrentPassword && session?.is_recovery !== true) {
      await requireCurrentPassword(call, old)
    }
    if (await passwords.verify(old, password)) {
      throw new AuthError(422, 'same_password', 'New password should be different from the old password.')
    }
  }
  return { old: old ?? null, current: await passwords.hash(password) }
}

/** What guesses count for: the address that the account signs in with. */
const subjectOf = ({ caller: { id, row } }: Pick<Call, 'caller'>): string =>
  row.email === null ? (row.phone ?? id) : asciiLowerCase(row.email)

/** Wrong passwords count as those of sign-in do. */
async function requireCurrentPassword({ context, caller, body, request }: Call, hash: string): Promise<void> {
  const message = 'Current password required when setting new password.'
  if (isEmpty(body.current_password)) throw new AuthError(400, 'current_password_required', message)
  const { attempts, hooks } = context
  const passwords = context.passwords.for(workClient(request, context.trustedProxies))
  const attempt = {
    password: body.current_password,
    address: subjectOf({ caller }),
    network: clientNetwork(request, context.trustedProxies),
  }
  const owner = await attemptPassword(
    { passwords, limits: attempts, reportAttempt: hooks.passwordVerificationAttempt },
    attempt,
    () => Promise.resolve({ id: caller.id, passwordHash: hash }),
  )
  if (!owner) throw new AuthError(400, 'current_password_invalid', message)
}
