// Accounts as the command line shows them.
import { jsonMembers, jsonObject } from '../../text/json-members.ts'
import type { ListedPasskey } from '../../services/auth/admin/user-passkeys.ts'
import type { ListedSession } from '../../services/accounts/session.ts'

/** What commands read of the user object of the admin API. Empty texts are addresses that the account does not have. */
export type UserObject = {
  readonly id: string
  readonly email: string
  readonly phone: string
  readonly role: string
  readonly created_at: string
  readonly last_sign_in_at?: string
  readonly email_confirmed_at?: string
  readonly phone_confirmed_at?: string
  readonly banned_until?: string
  readonly deleted_at?: string
  readonly is_anonymous: boolean
  readonly identities: readonly { readonly provider: string }[]
  readonly factors?: readonly {
    readonly factor_type: string
    readonly status: string
    readonly friendly_name?: string
  }[]
}

export type User = UserObject & {
  /** `admin`, or another role of the application; null for none. */
  readonly appRole: string | null
  /** The user object as JSON text with the member `app_role`. Its metadata have all digits of numbers. */
  readonly json: string
}

/** @param json the user object as the admin API sends it */
export const userOf = (json: string, appRole: string | null): User => ({
  ...(JSON.parse(json) as UserObject),
  appRole,
  json: withMembers(json, { app_role: appRole }),
})

/** A JSON object with further members. */
export function withMembers(json: string, more: Readonly<Record<string, unknown>>): string {
  const members = jsonMembers(json)
  for (const [name, value] of Object.entries(more)) members.set(name, JSON.stringify(value))
  return jsonObject(members)
}

export type UserDetails = {
  readonly user: User
  readonly passkeys: readonly ListedPasskey[]
  readonly sessions: readonly ListedSession[]
}

/** The address, phone number or id of an account, for messages. */
export const nameOf = ({ id, email, phone }: Pick<UserObject, 'id' | 'email' | 'phone'>): string => {
  if (email !== '') return email
  return phone === '' ? id : `+${phone}`
}
