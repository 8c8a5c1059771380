// The hooks of `/auth/v1`: code of the operator that is called at fixed points, as Postgres functions or HTTP endpoints.
import { randomUUID } from 'node:crypto'
import { JsonStatement } from '../../../postgres/json-statement.ts'
import { jsonMembers } from '../../../text/json-members.ts'
import type { AuthDatabase } from '../auth-database.ts'
import { AuthError } from '../auth-error.ts'
import { noHooks, type AuthHooks, type HookMetadata } from '../auth-hooks.ts'
import type { HookName, HookSettings } from '../settings.ts'
import type { HookResponse } from './hook-response.ts'
import { hookTarget } from './hook-target.ts'
import { callHttpHook, httpHookLimits, type HttpHookLimits } from './http-hook.ts'
import { callPostgresHook, postgresHookTimeout } from './postgres-hook.ts'
import { claimsOfHook } from './token-claims.ts'

/** Names in the metadata of payloads. */
const payloadNames = {
  custom_access_token: 'customize-access-token',
  send_email: 'send-email',
  send_sms: 'send-sms',
  before_user_created: 'before-user-created',
  after_user_created: 'after-user-created',
  mfa_verification_attempt: 'mfa-verification',
  password_verification_attempt: 'password-verification',
} as const satisfies Record<HookName, string>

export type HooksOptions = {
  readonly settings: ReadonlyMap<HookName, HookSettings>
  readonly database: Pick<AuthDatabase, 'ask' | 'transaction'>
  readonly httpLimits?: HttpHookLimits
  /** Milliseconds. */
  readonly postgresTimeout?: number
}

/** Calls a hook with JSON texts by name, besides the metadata. */
type CallHook = (members: Readonly<Record<string, string>>, metadata?: HookMetadata) => Promise<HookResponse>

/**
 * The hooks of the settings. Those that are not enabled do nothing.
 *
 * @throws HookSettingError
 */
export function createHooks(options: HooksOptions): AuthHooks {
  const enabled = new Map(
    [...options.settings].filter(([, { enabled }]) => enabled).map(([name, it]) => [name, callerOf(name, it, options)]),
  )
  const { database } = options
  const accessToken = enabled.get('custom_access_token')
  const before = enabled.get('before_user_created')
  const after = enabled.get('after_user_created')
  const password = enabled.get('password_verification_attempt')
  const mfa = enabled.get('mfa_verification_attempt')
  return {
    ...noHooks,
    ...(accessToken && { customAccessToken: customAccessToken(accessToken) }),
    ...(before && { beforeUserCreated: async (user, metadata) => void (await before({ user }, metadata)) }),
    ...(after && { afterUserCreated: async (user, metadata) => void (await after({ user }, metadata)) }),
    ...(password && { passwordVerificationAttempt: passwordAttempt(password, database) }),
    ...(mfa && { mfaVerificationAttempt: mfaAttempt(mfa, database) }),
    sendEmail: sender(enabled.get('send_email')),
    sendSms: sender(enabled.get('send_sms')),
  }
}

function callerOf(name: HookName, settings: HookSettings, options: HooksOptions): CallHook {
  const { database, httpLimits = httpHookLimits, postgresTimeout = postgresHookTimeout } = options
  const target = hookTarget(name, settings)
  return (members, metadata) => {
    const payload = jsonOf({ metadata: metadataText(name, metadata), ...members })
    return target.kind === 'http'
      ? callHttpHook(target, payload, httpLimits)
      : callPostgresHook(database, target, payload, postgresTimeout)
  }
}

const metadataText = (name: HookName, { ip }: HookMetadata = { ip: null }): string =>
  JSON.stringify({
    uuid: randomUUID(),
    time: new Date().toISOString(),
    name: payloadNames[name],
    ...(ip === null ? {} : { ip_address: ip }),
  })

/** An object of members that are JSON texts. */
const jsonOf = (members: Readonly<Record<string, string>>): string =>
  `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`

const customAccessToken =
  (call: CallHook): AuthHooks['customAccessToken'] =>
  async (claims, method) => {
    const { sub } = JSON.parse(claims) as { readonly sub?: unknown }
    const response = await call({
      user_id: JSON.stringify(sub ?? null),
      claims,
      authentication_method: JSON.stringify(method),
    })
    return claimsOfHook(response)
  }

/** A hook that sends something. Its payload is an object, which gets the metadata. */
const sender = (call: CallHook | undefined): AuthHooks['sendSms'] =>
  call && (async (payload) => void (await call(jsonMembersOf(payload))))

const passwordAttempt =
  (call: CallHook, database: HooksOptions['database']): AuthHooks['passwordVerificationAttempt'] =>
  async ({ userId, valid }) => {
    const { value } = await call(jsonMembersOf(JSON.stringify({ user_id: userId, valid })))
    if (value.decision !== 'reject') return
    if (value.should_logout_user === true) await endSessions(database, userId)
    const message = messageOf(value.message, 'Further password verification attempts will be rejected.')
    throw new AuthError(400, 'invalid_credentials', message)
  }

const mfaAttempt =
  (call: CallHook, database: HooksOptions['database']): AuthHooks['mfaVerificationAttempt'] =>
  async ({ userId, factorId, factorType, valid }) => {
    const attempt = { user_id: userId, factor_id: factorId, factor_type: factorType, valid }
    const { value } = await call(jsonMembersOf(JSON.stringify(attempt)))
    if (value.decision !== 'reject') return
    await endSessions(database, userId)
    const message = messageOf(value.message, 'Further MFA verification attempts will be rejected.')
    throw new AuthError(403, 'mfa_verification_rejected', message)
  }

/** The members of a JSON object as JSON texts. */
const jsonMembersOf = (text: string): Readonly<Record<string, string>> => Object.fromEntries(jsonMembers(text))

const messageOf = (given: unknown, otherwise: string): string =>
  typeof given === 'string' && given !== '' ? given : otherwise

/** Ends all sessions of a user. */
const endSessions = async (database: HooksOptions['database'], userId: string): Promise<void> =>
  void (await database.ask(deleteSessions, [userId]))

const deleteSessions = new JsonStatement(
  `with ended as (delete from auth.sessions where user_id = $1::uuid returning 1)
select to_json(count(*)) from ended`,
  { access: 'write' },
)
