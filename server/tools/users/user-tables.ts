// Accounts as text.
import { jsonMembers } from '../../text/json-members.ts'
import { printable, textTable } from '../command-line/text-table.ts'
import { nameOf, type User, type UserDetails } from './user.ts'
import type { UserPage } from './users.ts'

/** A time with its minute, in UTC. */
const minute = (time: Date | string): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ')

const since = (label: string, time: string | undefined): string =>
  time === undefined ? `not ${label}` : `${label} ${minute(time)}`

export const isBanned = ({ banned_until: until }: Pick<User, 'banned_until'>, now: Date): boolean =>
  until !== undefined && new Date(until) > now

/** The end of a ban. */
export const untilOf = ({ banned_until: until }: Pick<User, 'banned_until'>): string =>
  until === undefined ? 'now' : minute(until)

/** Why an account can sign in or not, in a few words. */
export function stateOf(user: User, now: Date): string {
  if (user.deleted_at !== undefined) return `deleted ${minute(user.deleted_at)}`
  if (isBanned(user, now)) return `banned until ${untilOf(user)}`
  if (user.is_anonymous) return 'anonymous'
  return user.email_confirmed_at === undefined && user.phone_confirmed_at === undefined ? 'not confirmed' : 'confirmed'
}

/** @param more how to see the next page, if there is one */
export function usersTable({ users, total }: UserPage, now: Date, more: string | undefined): string {
  if (users.length === 0) return total === 0 ? 'There are no users.' : `There are ${total} users, none on this page.`
  const table = textTable(
    [
      { title: 'ID', width: 36 },
      { title: 'ADDRESS', width: 40 },
      { title: 'APP_ROLE', width: 12 },
      { title: 'STATE', width: 29 },
      { title: 'LAST SIGN-IN (UTC)', width: 18 },
    ],
    users.map((user) => [
      user.id,
      user.email === '' && user.phone === '' ? '' : printable(nameOf(user)),
      printable(user.appRole ?? ''),
      stateOf(user, now),
      user.last_sign_in_at === undefined ? 'never' : minute(user.last_sign_in_at),
    ]),
  )
  return more === undefined ? table : `${table}\n\n${users.length} of ${total} users. ${more}`
}

/** All about an account, a line for each part. Times are in UTC. */
export function userText({ user, passkeys, sessions }: UserDetails, now: Date): string {
  const members = jsonMembers(user.json)
  const lines: readonly (readonly [string, string])[] = [
    ['id', user.id],
    ...(user.email === ''
      ? []
      : [['e-mail', `${user.email} (${since('confirmed', user.email_confirmed_at)})`] as const]),
    ...(user.phone === ''
      ? []
      : [['phone', `+${user.phone} (${since('confirmed', user.phone_confirmed_at)})`] as const]),
    ['state', stateOf(user, now)],
    ['app_role', user.appRole ?? 'none'],
    ['role', user.role],
    ['created', minute(user.created_at)],
    ['last sign-in', user.last_sign_in_at === undefined ? 'never' : minute(user.last_sign_in_at)],
    ['identities', user.identities.map(({ provider }) => provider).join(', ') || 'none'],
    [
      'second factors',
      (user.factors ?? [])
        .map(({ factor_type: type, status, friendly_name: name }) => `${type}${name ? ` ${name}` : ''} (${status})`)
        .join(', ') || 'none',
    ],
    ['passkeys', passkeys.length === 0 ? 'none' : String(passkeys.length)],
    ...passkeys.map(
      ({ id, friendly_name: name = 'Passkey', created_at: added, last_used_at: used }) =>
        [
          '',
          `${name}, added ${minute(added)}, ${used === undefined ? 'never used' : `last used ${minute(used)}`}, ${id}`,
        ] as const,
    ),
    ['user metadata', members.get('user_metadata') ?? '{}'],
    ['app metadata', members.get('app_metadata') ?? '{}'],
    ['sessions', sessions.length === 0 ? 'none' : String(sessions.length)],
    ...sessions.map(
      ({ createdAt, refreshedAt, userAgent, passkey }) =>
        [
          '',
          [
            `since ${minute(createdAt)}`,
            ...(refreshedAt === null ? [] : [`refreshed ${minute(refreshedAt)}`]),
            ...(passkey === null ? [] : [`by ${passkey.name ?? 'a passkey that was removed'}`]),
            ...(userAgent === null ? [] : [userAgent]),
          ].join(', '),
        ] as const,
    ),
  ]
  return lines.map(([label, text]) => `${label.padEnd(16)}${printable(text)}`.trimEnd()).join('\n')
}
