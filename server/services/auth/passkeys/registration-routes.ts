// `/passkeys/registration`: a user who is signed in adds a passkey.
import { dto } from '../../../http/service-response.ts'
import { AuthError } from '../auth-error.ts'
import { defineAuthRoute, type AuthRoute } from '../dialect.ts'
import { notify } from '../mail/notices.ts'
import { factorOwner } from '../mfa/factor-caller.ts'
import { originOf } from '../request-origin.ts'
import type { KnownCredential } from '../webauthn/credential.ts'
import { creationOptions, newChallenge } from '../webauthn/options.ts'
import { verifyCreation } from '../webauthn/verification.ts'
import { readAnswer, readCredential, type PasskeyAnswerDto } from './passkey-answer.ts'
import { defaultName, nameOfProduct, type NamedPasskey } from './passkey-names.ts'
import { accepted } from '../refusal.ts'
import { failedVerification, passkeyRefusals, requirePasskeys } from './passkey-refusal.ts'
import { passkeyStatements } from './passkey-statements.ts'

type Begun = {
  /** The time is in seconds since 1970. */
  readonly challenge: { readonly id: string; readonly expires_at: number }
  readonly existing: readonly KnownCredential[]
  readonly display_name: string | null
}

const refused = {
  403: 'The user is anonymous, or the session needs aal2.',
  404: 'Passkeys are disabled.',
  422: 'The account has the maximum number of passkeys, or is one of single sign-on.',
} as const

export const registrationRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/passkeys/registration/options',
    id: 'authPasskeyRegistrationOptions',
    summary: 'Begin to add a passkey',
    description: 'The options are for `navigator.credentials.create`.',
    caller: 'user',
    limit: 'passkey',
    success: [200, 'The challenge, which expires at a time in seconds since 1970, and the options.'],
    schema: dto('AuthPasskeyChallengeDto'),
    errors: refused,
    handler: async ({ caller, context }) => {
      requirePasskeys(context.settings())
      const owner = factorOwner(caller)
      const { authWebAuthnChallengeExpiryDuration: lifetime, authPasskeyMaxPasskeysPerUser } = context.settings()
      const challenge = newChallenge()
      const [result] = await context.database.ask(passkeyStatements.beginRegistration, [
        owner.id,
        owner.session.id,
        challenge,
        lifetime,
        authPasskeyMaxPasskeysPerUser,
      ])
      const begun = accepted<Begun>(result, passkeyRefusals)
      const { email, phone } = owner.row
      const name = [email, phone, owner.id].find((text) => text !== null && text !== '') ?? owner.id
      const user = { id: owner.id, name, displayName: begun.display_name ?? name }
      const request = { challenge, user, existing: begun.existing, lifetime }
      const { id, expires_at } = begun.challenge
      return { json: { challenge_id: id, options: creationOptions(context.relyingParty(), request, true), expires_at } }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/passkeys/registration/verify',
    id: 'authVerifyPasskeyRegistration',
    summary: 'Add a passkey',
    description: 'The answer to a challenge. Each challenge accepts one answer, whether it is right or not.',
    caller: 'user',
    body: dto<PasskeyAnswerDto>('AuthPasskeyAnswerDto'),
    success: [200, 'The passkey.'],
    schema: dto('AuthPasskeyDto'),
    errors: {
      ...refused,
      400: 'The body is not valid, the challenge is unknown or has expired, or the credential is not valid.',
    },
    handler: async ({ caller, body, context, request }) => {
      requirePasskeys(context.settings())
      const owner = factorOwner(caller)
      const { challengeId, credential: given } = readAnswer(body)
      const values = [owner.id, owner.session.id, challengeId]
      const [taken] = await context.database.ask(passkeyStatements.takeRegistration, values)
      const { challenge } = accepted<{ readonly challenge: string }>(taken, passkeyRefusals)
      const credential = readCredential(context, given)
      if (credential instanceof AuthError) throw credential
      const expected = { party: context.relyingParty(), challenge, verifiesUser: true }
      const created = await verifyCreation(credential, expected).catch((error: unknown) => {
        throw failedVerification(error)
      })
      const stored = {
        credential_id: created.id.toString('base64'),
        public_key: created.publicKey.toString('base64'),
        aaguid: created.aaguid,
        sign_count: created.signCount,
        transports: created.transports,
        backup_eligible: created.backupEligible,
        backed_up: created.backedUp,
        friendly_name: nameOfProduct(created.aaguid),
      }
      const [added] = await context.database.ask(passkeyStatements.add, [
        owner.id,
        owner.session.id,
        JSON.stringify(stored),
        context.settings().authPasskeyMaxPasskeysPerUser,
        originOf(request, context).ip,
      ])
      const passkey = accepted<NamedPasskey>(added, passkeyRefusals)
      const passkeyName = passkey.friendly_name ?? defaultName
      notify(context, request, caller.text, { kind: 'passkey_added', passkeyName })
      return { json: passkey }
    },
  }),
]
