// The hooks of `/auth/v1`: code of the operator that is called at fixed points, as Postgres functions or HTTP endpoints.
import { randomUUID } from 'node:crypto'
import { JsonStatement } from '../../../postgres/json-statement.ts'
import { jsonMembers, jsonObject, jsonTexts, type JsonTexts } from '../../../text/json-members.ts'
import type { AuthDatabase } from '../auth-database.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthHooks, FactorAttempt, HookMetadata, PasswordAttempt } from '../auth-hooks.ts'
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
type CallHook = (members: JsonTexts, metadata?: HookMetadata) => Promise<HookResponse>

/**
 * The hooks of the settings.
 *
 * @throws HookSettingError
 */
export function createHooks(options: HooksOptions): AuthHooks {
  const enabled = new Map(
    [...options.settings].filter(([, { enabled }]) => enabled).map(([name, it]) => [name, callerOf(name, it, options)]),
  )
  const { database } = options
  const hook = <Hook>(name: HookName, create: (call: CallHook) => Hook): Hook | undefined => {
    const call = enabled.get(name)
    return call && create(call)
  }
  return {
    customAccessToken: hook('custom_access_token', customAccessToken),
    beforeUserCreated: hook('before_user_created', userHook),
    afterUserCreated: hook('after_user_created', userHook),
    passwordVerificationAttempt: hook('password_verification_attempt', (call) => passwordAttempt(call, database)),
    mfaVerificationAttempt: hook('mfa_verification_attempt', (call) => mfaAttempt(call, database)),
    sendEmail: hook('send_email', sender),
    sendSms: hook('send_sms', sender),
  }
}

function callerOf(name: HookName, settings: HookSettings, options: HooksOptions): CallHook {
  const { database, httpLimits = httpHookLimits, postgresTimeout = postgresHookTimeout } = options
  const target = hookTarget(name, settings)
  return (members, metadata) => {
    const payload = jsonObject({ metadata: metadataText(name, metadata), ...members })
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

const customAccessToken =
  (call: CallHook) =>
  async (claims: string, method: string): Promise<string> => {
    const { sub } = JSON.parse(claims) as { readonly sub?: unknown }
    const response = await call({
      user_id: JSON.stringify(sub ?? null),
      claims,
      authentication_method: JSON.stringify(method),
    })
    return claimsOfHook(response, claims)
  }

/** A hook that gets a user object. */
const userHook =
  (call: CallHook) =>
  async (user: string, metadata: HookMetadata): Promise<void> =>
    void (await call({ user }, metadata))

/** A hook that sends something. Its payload is an object, which gets the metadata. */
const sender =
  (call: CallHook) =>
  async (payload: string): Promise<void> =>
    void (await call(Object.fromEntries(jsonMembers(payload))))

const passwordAttempt =
  (call: CallHook, database: HooksOptions['database']) =>
  async ({ userId, valid }: PasswordAttempt): Promise<void> => {
    const { value } = await call(jsonTexts({ user_id: userId, valid }))
    if (value.decision !== 'reject') return
    if (value.should_logout_user === true) await endSessions(database, userId)
    const message = messageOf(value.message, 'Further password verification attempts will be rejected.')
    throw new AuthError(400, 'invalid_credentials', message)
  }

const mfaAttempt =
  (call: CallHook, database: HooksOptions['database']) =>
  async ({ userId, factorId, factorType, valid }: FactorAttempt): Promise<void> => {
    const attempt = { user_id: userId, factor_id: factorId, factor_type: factorType, valid }
    const { value } = await call(jsonTexts(attempt))
    if (value.decision !== 'reject') return
    await endSessions(database, userId)
    const message = messageOf(value.message, 'Further MFA verification attempts will be rejected.')
    throw new AuthError(403, 'mfa_verification_rejected', message)
  }

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
