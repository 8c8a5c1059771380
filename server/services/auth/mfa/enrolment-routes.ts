// `/factors`: second factors of the signed-in user.
import { dto } from '../../../http/service-response.ts'
import { readPhone } from '../addresses.ts'
import { given } from '../request-text.ts'
import type { AuthContext } from '../auth-context.ts'
import { authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthReply, type AuthRoute } from '../dialect.ts'
import { notify } from '../mail/notices.ts'
import { factorId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import { factorOwner, type FactorOwner } from './factor-caller.ts'
import { accepted } from '../refusal.ts'
import { enrollDisabled, factorRefusals, type FactorType } from './factor-refusal.ts'
import { factorStatements } from './factor-statements.ts'

/** `schemas/auth-enroll-factor-dto.json` */
type EnrollFactorDto = {
  readonly factor_type?: string | null
  readonly friendly_name?: string | null
  readonly issuer?: string | null
  readonly phone?: string | null
}

/** The parts of a new factor. */
type NewFactor = {
  readonly type: FactorType
  readonly friendlyName: string
  readonly secret?: string
  readonly phone?: string
}

export const enrolmentRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/factors',
    id: 'authEnrollFactor',
    summary: 'Add a second factor',
    description:
      'The factor counts once a code of it was verified. The secret of an authenticator app is sent only here. ' +
      'A factor that is not verified within some minutes is deleted.',
    caller: 'user',
    body: dto<EnrollFactorDto>('AuthEnrollFactorDto'),
    success: [200, 'The factor, and the key for an authenticator app.'],
    schema: dto('AuthEnrolledFactorDto'),
    errors: {
      403: 'The session needs aal2, or the user is anonymous.',
      422: 'The type is not enabled, the name is taken, or there are too many factors.',
    },
    handler: ({ caller, body, context, request }) => {
      const owner = factorOwner(caller)
      const ip = originOf(request, context).ip
      const issuer = given(body.issuer) ?? hostOf(context.settings().authSiteUrl ?? context.externalUrl(request))
      switch (body.factor_type) {
        case 'totp':
          return enrollTotp(context, owner, { ...body, issuer }, ip)
        case 'phone':
          return enrollPhone(context, owner, body, ip)
        case 'webauthn':
          return enrollWebAuthn(context, owner, body, ip)
        default:
          throw authErrors.invalid('factor_type needs to be totp, phone, or webauthn')
      }
    },
  }),
  defineAuthRoute({
    method: 'delete',
    path: '/factors/{factor_id}',
    id: 'authUnenrollFactor',
    summary: 'Remove a second factor',
    description:
      'Sessions that were raised by it fall back to aal1. Removing the last verified factor deletes the recovery codes.',
    caller: 'user',
    pathParameters: { factor_id: factorId },
    success: [200, 'The id of the factor.'],
    schema: dto('AuthRemovedFactorDto'),
    errors: { 404: 'The user has no such factor.', 422: 'A verified factor can be removed only in a session of aal2.' },
    handler: async ({ caller, path, context, request }) => {
      const owner = factorOwner(caller)
      const [result] = await context.database.ask(factorStatements.unenroll, [
        owner.id,
        owner.session.id,
        path.factor_id,
        originOf(request, context).ip,
      ])
      const json = accepted(
        result,
        factorRefusals({ protectedAction: { name: 'unenroll verified factor', status: 422 } }),
      )
      const factorType = typeOfVerified(owner, path.factor_id)
      if (factorType !== undefined) notify(context, request, owner.text, { kind: 'mfa_factor_unenrolled', factorType })
      return { json }
    },
  }),
]

/** The type of a verified factor, before it was removed. */
function typeOfVerified({ text }: FactorOwner, id: string): string | undefined {
  const { factors = [] } = JSON.parse(text) as {
    readonly factors?: readonly { readonly id: string; readonly factor_type: string; readonly status: string }[]
  }
  return factors.find((factor) => factor.id === id.toLowerCase() && factor.status === 'verified')?.factor_type
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)

async function enrollTotp(
  context: AuthContext,
  owner: FactorOwner,
  { friendly_name, issuer }: EnrollFactorDto & { readonly issuer: string },
  ip: string | null,
): Promise<AuthReply> {
  if (!context.settings().authMfaTotpEnrollEnabled) throw enrollDisabled('totp')
  const friendlyName = friendly_name ?? ''
  const { email, phone } = owner.row
  // An app needs some name for the account.
  const account = [email, phone, owner.id].find((name) => name !== null && name !== '') ?? owner.id
  // Its libraries are loaded at first use, not at startup.
  const { createTotpKey } = await import('./totp.ts')
  const key = await createTotpKey(issuer, account)
  const id = await insertFactor(context, owner, { type: 'totp', friendlyName, secret: key.secret }, ip)
  return { json: { id, type: 'totp', friendly_name: friendlyName, totp: key } }
}

async function enrollPhone(
  context: AuthContext,
  owner: FactorOwner,
  { friendly_name, phone }: EnrollFactorDto,
  ip: string | null,
): Promise<AuthReply> {
  // Without the hook there is nothing that could send the codes.
  if (!context.settings().authMfaPhoneEnrollEnabled || !context.hooks.sendSms) throw enrollDisabled('phone')
  if (!phone) throw authErrors.invalid('Phone number required to enroll Phone factor')
  const friendlyName = friendly_name ?? ''
  const id = await insertFactor(context, owner, { type: 'phone', friendlyName, phone: readPhone(phone) }, ip)
  return { json: { id, type: 'phone', friendly_name: friendlyName, phone } }
}

/** The credential is created by the first challenge. */
async function enrollWebAuthn(
  context: AuthContext,
  owner: FactorOwner,
  { friendly_name }: EnrollFactorDto,
  ip: string | null,
): Promise<AuthReply> {
  if (!context.settings().authMfaWebAuthnEnrollEnabled) throw enrollDisabled('webauthn')
  const friendlyName = friendly_name ?? ''
  const id = await insertFactor(context, owner, { type: 'webauthn', friendlyName }, ip)
  return { json: { id, type: 'webauthn', friendly_name: friendlyName } }
}

async function insertFactor(
  { database, settings }: AuthContext,
  { id: userId, session }: FactorOwner,
  { type, friendlyName, secret, phone }: NewFactor,
  ip: string | null,
): Promise<string> {
  const { authMfaMaxEnrolledFactors, authMfaMaxVerifiedFactors, authMfaFactorExpiryDuration } = settings()
  const [result] = await database.ask(factorStatements.enroll, [
    userId,
    session.id,
    type,
    friendlyName,
    secret ?? null,
    phone ?? null,
    Math.floor(authMfaMaxEnrolledFactors),
    Math.floor(authMfaMaxVerifiedFactors),
    authMfaFactorExpiryDuration,
    ip,
  ])
  const protectedAction = { name: 'enroll a new factor', status: 403 } as const
  return accepted<{ readonly id: string }>(result, factorRefusals({ friendlyName, protectedAction })).id
}
