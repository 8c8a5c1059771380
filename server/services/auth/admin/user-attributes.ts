// Attributes of accounts in requests of administrators.
import type { ClientPasswords } from '../../accounts/password.ts'
import { isPasswordHash } from '../../accounts/password-hash.ts'
import { goDuration } from '../../../text/go-duration.ts'
import { jsonObject, jsonTexts } from '../../../text/json-members.ts'
import { readEmail, readPhone } from '../addresses.ts'
import { authErrors } from '../auth-error.ts'
import { objectMember } from '../metadata.ts'
import { isUuid } from '../../../text/uuid.ts'

/** `schemas/auth-admin-user-dto.json` */
export type AdminUserDto = {
  readonly id?: string | null
  readonly aud?: string | null
  readonly role?: string | null
  readonly email?: string | null
  readonly phone?: string | null
  readonly password?: string | null
  readonly password_hash?: string | null
  readonly email_confirm?: boolean | null
  readonly phone_confirm?: boolean | null
  readonly user_metadata?: Readonly<Record<string, unknown>> | null
  readonly app_metadata?: Readonly<Record<string, unknown>> | null
  readonly ban_duration?: string | null
}

/** Checked attributes, for the database. */
export type UserAttributes = {
  /** JSON text. The metadata are as they were sent, with all digits of numbers. */
  readonly json: string
  /** Seconds; 0 ends a ban. Null without a change. */
  readonly ban: number | null
}

/**
 * Checks the attributes, apart from the password.
 *
 * @param members the raw values of the body
 * @throws AuthError 400 `validation_failed`
 */
export function attributesOf(
  { email, phone, ban_duration: ban, id, aud, role, email_confirm, phone_confirm }: AdminUserDto,
  members: ReadonlyMap<string, string>,
): UserAttributes {
  const checked = {
    ...(email ? { email: readEmail(email) } : {}),
    ...(phone ? { phone: readPhone(phone) } : {}),
    ...(id ? { id: userId(id) } : {}),
    ...(aud ? { aud } : {}),
    ...(role ? { role } : {}),
    email_confirm: email_confirm === true,
    phone_confirm: phone_confirm === true,
  }
  return {
    json: jsonObject({
      ...jsonTexts(checked),
      user_metadata: objectMember(members, 'user_metadata') ?? 'null',
      app_metadata: objectMember(members, 'app_metadata') ?? 'null',
    }),
    ban: ban ? banDuration(ban) : null,
  }
}

function userId(text: string): string {
  if (!isUuid(text)) throw authErrors.invalid('ID must conform to the uuid v4 format')
  if (/^[0-]*$/.test(text)) throw authErrors.invalid('ID cannot be a nil uuid')
  return text.toLowerCase()
}

function banDuration(text: string): number {
  const seconds = text === 'none' ? 0 : goDuration(text)
  if (seconds === undefined) {
    throw authErrors.invalid(`invalid format for ban duration: time: invalid duration ${JSON.stringify(text)}`)
  }
  return seconds
}

/**
 * The hash for a password or an imported hash; null without either.
 *
 * @param check refuses weak passwords
 * @throws AuthError 400 `validation_failed`, and the errors of `check`
 */
export async function passwordHashOf(
  { password, password_hash: passwordHash }: AdminUserDto,
  passwords: Pick<ClientPasswords, 'hash'>,
  check: (password: string) => void,
): Promise<string | null> {
  const isGiven = password !== undefined && password !== null
  if (isGiven && passwordHash) throw authErrors.invalid('Only a password or a password hash should be provided')
  if (passwordHash) {
    if (!isPasswordHash(passwordHash)) {
      throw authErrors.invalid('The password hash must be of bcrypt, argon2i, argon2id or Firebase scrypt')
    }
    return passwordHash
  }
  if (!isGiven) return null
  check(password)
  return passwords.hash(password)
}
