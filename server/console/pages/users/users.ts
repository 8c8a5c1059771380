// Accounts by the admin API of `/auth/v1`, and by the console's own routes for what it lacks.
import type { UserAppRole } from '../../../services/console/protocol.ts'
import { consoleApi, fetchAs, jsonAs, serviceRole } from '../../api.ts'

export type Factor = {
  readonly id: string
  readonly status: string
  readonly factor_type: string
  readonly friendly_name?: string
  readonly created_at: string
}

export type Identity = {
  readonly identity_id: string
  readonly provider: string
  readonly email?: string
  readonly last_sign_in_at?: string
}

type Json = Readonly<Record<string, unknown>>

/** An account, as GoTrue describes it. Empty texts are addresses that it does not have. */
export type User = {
  readonly id: string
  readonly email: string
  readonly phone: string
  readonly role: string
  readonly created_at: string
  readonly last_sign_in_at?: string
  readonly email_confirmed_at?: string
  readonly phone_confirmed_at?: string
  readonly invited_at?: string
  readonly banned_until?: string
  readonly deleted_at?: string
  readonly is_anonymous?: boolean
  readonly user_metadata: Json
  readonly app_metadata: Json
  readonly identities?: readonly Identity[]
  readonly factors?: readonly Factor[]
}

/** The app_role of administrators. */
export const administrator = 'admin'

export const fullName = ({ user_metadata: { full_name: name } }: User): string => (typeof name === 'string' ? name : '')

export const isBanned = ({ banned_until: until }: User): boolean =>
  until !== undefined && Date.parse(until) > Date.now()

const admin = 'auth/v1/admin/users'
const pathOf = (id: string, below = ''): string => `${admin}/${encodeURIComponent(id)}${below}`

export const pageSize = 50

export type UserPage = {
  readonly users: readonly User[]
  readonly total: number
  /** The app_role of those that have one, by id. */
  readonly appRoles: ReadonlyMap<string, string>
}

export type UserSearch = { readonly filter: string; readonly page: number; readonly isOldestFirst: boolean }

export async function listUsers({ filter, page, isOldestFirst }: UserSearch, signal: AbortSignal): Promise<UserPage> {
  const query = new URLSearchParams({
    page: String(page),
    per_page: String(pageSize),
    sort: `created_at ${isOldestFirst ? 'asc' : 'desc'}`,
    ...(filter === '' ? {} : { filter }),
  })
  const response = await fetchAs(serviceRole, `${admin}?${query.toString()}`, { signal })
  const { users } = (await response.json()) as { readonly users: readonly User[] }
  const roles =
    users.length === 0 ? [] : await consoleApi<readonly UserAppRole[]>(`users?ids=${users.map(({ id }) => id).join()}`)
  return {
    users,
    total: Number(response.headers.get('X-Total-Count')),
    appRoles: new Map(roles.map(({ id, app_role: appRole }) => [id, appRole])),
  }
}

export const findUser = (id: string): Promise<User> => jsonAs(serviceRole, pathOf(id))

/** What the API can set, apart from the id. */
export type UserChanges = {
  readonly email?: string
  readonly phone?: string
  readonly password?: string
  readonly email_confirm?: boolean
  readonly phone_confirm?: boolean
  readonly ban_duration?: string
  readonly user_metadata?: Json
  readonly app_metadata?: Json
}

export const createUser = (body: UserChanges): Promise<User> => jsonAs(serviceRole, admin, { method: 'POST', body })

export const changeUser = (id: string, body: UserChanges): Promise<User> =>
  jsonAs(serviceRole, pathOf(id), { method: 'PUT', body })

export const deleteUser = (id: string): Promise<unknown> =>
  jsonAs(serviceRole, pathOf(id), { method: 'DELETE', body: {} })

export const inviteUser = (email: string): Promise<User> =>
  jsonAs(serviceRole, 'auth/v1/invite', { method: 'POST', body: { email } })

export const sendRecovery = (email: string): Promise<unknown> =>
  jsonAs(serviceRole, 'auth/v1/recover', { method: 'POST', body: { email } })

/** A link that signs the account in, which is not sent. */
export const signInLink = async (email: string): Promise<string> => {
  const body = { type: 'magiclink', email }
  const made = await jsonAs<{ action_link: string }>(serviceRole, 'auth/v1/admin/generate_link', {
    method: 'POST',
    body,
  })
  return made.action_link
}

export const removeFactor = (id: string, factor: string): Promise<unknown> =>
  jsonAs(serviceRole, pathOf(id, `/factors/${encodeURIComponent(factor)}`), { method: 'DELETE' })

export type Passkey = {
  readonly id: string
  readonly friendly_name?: string
  readonly created_at: string
  readonly last_used_at?: string
}

export const listPasskeys = (id: string): Promise<readonly Passkey[]> => jsonAs(serviceRole, pathOf(id, '/passkeys'))

export const removePasskey = (id: string, passkey: string): Promise<unknown> =>
  jsonAs(serviceRole, pathOf(id, `/passkeys/${encodeURIComponent(passkey)}`), { method: 'DELETE' })

export const setAppRole = (id: string, appRole: string | null): Promise<unknown> =>
  consoleApi(`users/${id}/app-role`, { method: 'PUT', body: { app_role: appRole } })

/** @param session its id, or `all` */
export const endSession = (id: string, session: string): Promise<unknown> =>
  consoleApi(`users/${id}/sessions/${session}`, { method: 'DELETE' })

/** The API merges metadata: members that are left out stay, and null removes one. */
export function metadataChanges(before: Json, after: Json): Json {
  const removed = Object.keys(before).filter((name) => !(name in after))
  return { ...after, ...Object.fromEntries(removed.map((name) => [name, null])) }
}
