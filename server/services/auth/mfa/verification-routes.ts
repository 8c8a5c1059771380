// `/factors/{factor_id}/challenge` and `/verify`: how a second factor raises a session to aal2.
import { randomInt, timingSafeEqual } from 'node:crypto'
import { dto } from '../../../http/service-response.ts'
import { sessionSchema } from '../account-schemas.ts'
import { jsonObject } from '../../../text/json-members.ts'
import { readChannel } from '../addresses.ts'
import type { AuthContext } from '../auth-context.ts'
import type { CodeMacs } from '../code-macs.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthReply, type AuthRoute } from '../dialect.ts'
import { notify } from '../mail/notices.ts'
import { factorId } from '../path-ids.ts'
import { originOf } from '../request-origin.ts'
import type { AmrMethod } from '../sessions.ts'
import { given } from '../request-text.ts'
import { factorGuesses } from '../../secrets.ts'
import { InvalidCredential } from '../webauthn/credential.ts'
import { newChallenge } from '../webauthn/options.ts'
import { isUuid, nilUuid } from '../../../text/uuid.ts'
import { factorOwner, type FactorOwner } from './factor-caller.ts'
import { accepted, requireAccepted } from '../refusal.ts'
import { factorRefusals, wrongCode, type FactorType } from './factor-refusal.ts'
import { factorStatements } from './factor-statements.ts'
import { hashRecoveryCode, recoveryCodeIn } from './recovery-code.ts'
import {
  ceremonyOptions,
  readFactorAnswer,
  verifyFactorAnswer,
  type AttemptedCeremony,
  type BegunCeremony,
  type FactorAnswerDto,
  type VerifiedAnswer,
} from './webauthn-factor.ts'

/** `schemas/auth-challenge-factor-dto.json` */
type ChallengeFactorDto = { readonly channel?: string | null }
/** `schemas/auth-verify-factor-dto.json` */
type VerifyFactorDto = {
  readonly challenge_id?: string | null
  readonly code?: string | null
  readonly webauthn?: FactorAnswerDto | null
}

type Challenge = {
  readonly id: string
  readonly type: FactorType
  /** Seconds since 1970. */
  readonly expires_at: number
  readonly phone: string | null
  /** Of a security key. */
  readonly webauthn?: BegunCeremony
}

/** What a code, or the answer of a security key, is compared with. */
type Attempt = {
  readonly type: FactorType
  readonly status: 'unverified' | 'verified'
  readonly secret: string | null
  readonly codeHash: string | null
  readonly webauthn?: AttemptedCeremony
}

/** How a code or an answer was right. */
type Match = {
  readonly method: AmrMethod
  readonly totpStep?: number
  readonly recoveryHash?: string
  readonly webauthn?: VerifiedAnswer
}

export const verificationRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/factors/{factor_id}/challenge',
    id: 'authChallengeFactor',
    summary: 'Begin to verify a second factor',
    description:
      'A code is sent to a phone; a security key gets the options of `navigator.credentials`. The challenge can be verified ' +
      'only from the same address.',
    caller: 'user',
    limit: 'mfa_challenge_and_verify',
    pathParameters: { factor_id: factorId },
    body: dto<ChallengeFactorDto>('AuthChallengeFactorDto'),
    bodyOptional: true,
    success: [200, 'The challenge, which expires at a time in seconds since 1970.'],
    schema: dto('AuthChallengeDto'),
    errors: { 404: 'The user has no such factor.', 422: 'The type of the factor is not enabled.' },
    handler: async ({ caller, path, body, context, request }) => {
      const owner = factorOwner(caller)
      const id = path.factor_id
      readChannel(body.channel ?? '')
      const code = newCode(context.settings().authMfaPhoneOtpLength)
      const random = newChallenge()
      const { authMfaChallengeExpiryDuration, authMfaPhoneMaxFrequency } = context.settings()
      const [result] = await context.database.ask(factorStatements.challenge, [
        owner.id,
        id,
        allowedTypes(context),
        context.codeMacs.sign(id, code),
        random,
        authMfaChallengeExpiryDuration,
        authMfaPhoneMaxFrequency,
        originOf(request, context).ip,
      ])
      const challenge = accepted<Challenge>(result, factorRefusals())
      if (challenge.phone !== null) await sendCode(context, owner, challenge.phone, code)
      const { type, expires_at, webauthn: begun } = challenge
      const ceremony = { challenge: random, lifetime: authMfaChallengeExpiryDuration }
      const webauthn = begun && ceremonyOptions(context.relyingParty(), owner, { ...ceremony, ...begun })
      return { json: { id: challenge.id, type, expires_at, ...(webauthn ? { webauthn } : {}) } }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/factors/{factor_id}/verify',
    id: 'authVerifyFactor',
    summary: 'Verify a second factor',
    description:
      'Raises the session to aal2, and ends the other sessions of the user below it. For a verified factor, a recovery ' +
      'code is accepted instead of its code.',
    caller: 'user',
    limit: 'mfa_challenge_and_verify',
    pathParameters: { factor_id: factorId },
    secrets: ['factorCode', 'recoveryCode', 'securityKey'],
    body: dto<VerifyFactorDto>('AuthVerifyFactorDto'),
    success: [200, 'The session with new tokens.'],
    schema: sessionSchema,
    errors: {
      404: 'The user has no such factor.',
      422: 'The code or signature is wrong or was used, or the challenge is unknown, has expired, or is for another address.',
    },
    handler: async ({ caller, path, body, context, request }) => {
      const owner = factorOwner(caller)
      const id = path.factor_id
      // As in GoTrue, a missing id is that of no challenge.
      const challengeId = body.challenge_id ?? nilUuid
      if (!isUuid(challengeId)) {
        throw new AuthError(400, 'bad_json', 'Could not parse request body as JSON: challenge_id must be an UUID')
      }
      const code = given(body.code)
      if (code === undefined && !body.webauthn) throw authErrors.invalid('Code needs to be non-empty')
      const ip = originOf(request, context).ip
      const [result] = await context.database.ask(factorStatements.attempt, [
        owner.id,
        id,
        challengeId,
        allowedTypes(context),
        context.settings().authMfaChallengeExpiryDuration,
        factorGuesses.perChallenge,
        factorGuesses.perFactor,
        ip,
      ])
      const attempt = accepted<Attempt>(result, factorRefusals({ challengeId }))
      const { match, reason } = await outcomeOf(context, attempt, { userId: owner.id, factorId: id, code, body })
      await context.hooks.mfaVerificationAttempt?.({
        userId: owner.id,
        factorId: id,
        factorType: attempt.type,
        valid: match !== undefined,
      })
      if (!match) throw wrongCode(attempt.type, reason)
      const raised = await raise(context, owner, { factorId: id, challengeId, ip, ...match })
      if (attempt.status === 'unverified') {
        notify(context, request, caller.text, { kind: 'mfa_factor_enrolled', factorType: attempt.type })
      }
      return raised
    },
  }),
]

/** The types that can be verified, in Postgres's notation of a list. */
function allowedTypes({ settings, hooks }: AuthContext): string {
  const { authMfaTotpVerifyEnabled, authMfaPhoneVerifyEnabled, authMfaWebAuthnVerifyEnabled } = settings()
  const types = [
    ...(authMfaTotpVerifyEnabled ? ['totp'] : []),
    ...(authMfaPhoneVerifyEnabled && hooks.sendSms ? ['phone'] : []),
    ...(authMfaWebAuthnVerifyEnabled ? ['webauthn'] : []),
  ]
  return `{${types.join()}}`
}

const newCode = (digits: number): string =>
  Array.from({ length: Math.min(10, Math.max(6, digits)) }, () => randomInt(10)).join('')

/** Calls the hook that sends messages; the texts are its own. */
async function sendCode(
  { hooks, limits }: AuthContext,
  { text }: FactorOwner,
  phone: string,
  otp: string,
): Promise<void> {
  await limits.countSent('sms_sent')
  await hooks.sendSms?.(jsonObject({ user: text, sms: JSON.stringify({ otp, sms_type: 'mfa', phone }) }))
}

/** Whether the request proves the factor; for a security key, why not. */
async function outcomeOf(
  { codeMacs, relyingParty, now }: AuthContext,
  attempt: Attempt,
  request: { userId: string; factorId: string; code: string | undefined; body: VerifyFactorDto },
): Promise<{ readonly match: Match | undefined; readonly reason?: string }> {
  const { code, body } = request
  if (attempt.webauthn && code === undefined) {
    const answer = readFactorAnswer(body.webauthn, attempt.webauthn)
    try {
      const webauthn = await verifyFactorAnswer(relyingParty(), answer, attempt.webauthn)
      return { match: { method: 'mfa/webauthn', webauthn } }
    } catch (error) {
      if (error instanceof InvalidCredential) return { match: undefined, reason: error.message }
      throw error
    }
  }
  if (code === undefined) throw authErrors.invalid('Code needs to be non-empty')
  return { match: await matchOf(codeMacs, attempt, { ...request, code, now: now() }) }
}

/** Compares a code, or a recovery code. The database compares the hash of the latter. */
async function matchOf(
  macs: CodeMacs,
  { type, status, secret, codeHash }: Attempt,
  { userId, factorId: id, code, now }: { userId: string; factorId: string; code: string; now: number },
): Promise<Match | undefined> {
  const recoveryCode = recoveryCodeIn(code)
  if (recoveryCode !== undefined && status === 'verified') {
    return { method: 'mfa/recovery_code', recoveryHash: hashRecoveryCode(userId, recoveryCode) }
  }
  if (type === 'phone') {
    const isRight = codeHash !== null && macs.candidates(id, code.trim()).some((mac) => isSame(mac, codeHash))
    return isRight ? { method: 'mfa/phone' } : undefined
  }
  if (secret === null) return undefined
  // Its libraries are loaded at first use, not at startup.
  const { matchingStep } = await import('./totp.ts')
  const totpStep = matchingStep(secret, code, now)
  return totpStep === undefined ? undefined : { method: 'totp', totpStep }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

async function raise(
  { database, sessions }: AuthContext,
  owner: FactorOwner,
  verified: Match & { readonly factorId: string; readonly challengeId: string; readonly ip: string | null },
): Promise<AuthReply> {
  const { factorId: id, challengeId, ip, method, totpStep, recoveryHash, webauthn } = verified
  const subject = [owner.id, owner.session.id, id, challengeId] as const
  const [[started] = []] = webauthn
    ? await database.askRows(factorStatements.verifyWebAuthn, [
        ...subject,
        webauthn.created === null ? null : JSON.stringify(webauthn.created.stored),
        webauthn.created?.aaguid ?? null,
        webauthn.signCount,
        ip,
      ])
    : await database.askRows(factorStatements.verify, [...subject, totpStep ?? null, recoveryHash ?? null, method, ip])
  const text = started ?? '{}'
  requireAccepted(text, factorRefusals({ challengeId }))
  const issued = await sessions.respond(text, { method })
  return { text: issued.text }
}
