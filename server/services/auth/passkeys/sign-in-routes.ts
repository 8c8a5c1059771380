// `/passkeys/authentication`: sign-in with a passkey.
import { dto } from '../../../http/service-response.ts'
import { sessionSchema } from '../account-schemas.ts'
import { requireConfirmed, type ConfirmedAddresses } from '../admission.ts'
import type { AuthContext } from '../auth-context.ts'
import { AuthError, authErrors } from '../auth-error.ts'
import { defineAuthRoute, type AuthCall, type AuthReply, type AuthRoute } from '../dialect.ts'
import { originOf } from '../request-origin.ts'
import type { CredentialDto } from '../webauthn/credential.ts'
import { newChallenge, requestOptions, userHandleOf } from '../webauthn/options.ts'
import { verifyRequest } from '../webauthn/verification.ts'
import { readAnswer, readCredential, type PasskeyAnswerDto } from './passkey-answer.ts'
import { accepted, requireAccepted } from '../refusal.ts'
import { failedVerification, passkeyRefusals, requirePasskeys, verificationFailed } from './passkey-refusal.ts'
import { passkeyStatements } from './passkey-statements.ts'

/** What an answer is compared with. */
type Found = {
  readonly challenge: string
  /** Null for a credential that is not registered. */
  readonly passkey: {
    readonly public_key: string
    readonly backup_eligible: boolean
    readonly account: Account
  } | null
}

type Account = ConfirmedAddresses & {
  readonly banned: boolean
  readonly has_email: boolean
  readonly has_phone: boolean
}

export const passkeySignInRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'post',
    path: '/passkeys/authentication/options',
    id: 'authPasskeySignInOptions',
    summary: 'Begin to sign in with a passkey',
    description:
      'The options are for `navigator.credentials.get`. The user chooses the passkey, and with it the account.',
    caller: 'anyone',
    limit: 'passkey',
    success: [200, 'The challenge, which expires at a time in seconds since 1970, and the options.'],
    schema: dto('AuthPasskeyChallengeDto'),
    errors: { 404: 'Passkeys are disabled.' },
    handler: async ({ context }) => {
      requirePasskeys(context.settings())
      const { authWebAuthnChallengeExpiryDuration: lifetime } = context.settings()
      const challenge = newChallenge()
      const [begun] = await context.database.ask(passkeyStatements.beginSignIn, [challenge, lifetime])
      const { id, expires_at } = begun as { readonly id: string; readonly expires_at: number }
      const request = { challenge, userVerification: 'required', lifetime } as const
      return { json: { challenge_id: id, options: requestOptions(context.relyingParty(), request), expires_at } }
    },
  }),
  defineAuthRoute({
    method: 'post',
    path: '/passkeys/authentication/verify',
    id: 'authVerifyPasskeySignIn',
    summary: 'Sign in with a passkey',
    description: 'The answer to a challenge. Each challenge accepts one answer, whether it is right or not.',
    caller: 'anyone',
    // Only wrong answers are counted: each right one had options that were counted.
    limit: null,
    secrets: ['passkey'],
    body: dto<PasskeyAnswerDto>('AuthPasskeyAnswerDto'),
    success: [200, 'A session.'],
    schema: sessionSchema,
    errors: {
      400: 'The body is not valid, the challenge is unknown or has expired, or the signature is not valid.',
      403: 'The address is not confirmed, or the user is banned.',
      404: 'Passkeys are disabled.',
      429: 'Too many wrong answers.',
    },
    handler: async (call) => {
      requirePasskeys(call.context.settings())
      try {
        return await signIn(call)
      } catch (error) {
        if (error instanceof AuthError && error.code?.startsWith('webauthn_')) {
          await call.context.limits.countWrong('passkey', 'passkey', call.request)
        }
        throw error
      }
    },
  }),
]

async function signIn({ body, context, request }: AuthCall<'anyone', PasskeyAnswerDto>): Promise<AuthReply> {
  const { challengeId, credential: given } = readAnswer(body)
  const credential = readCredential(context, given)
  const credentialId = Buffer.from(credential instanceof AuthError ? '' : credential.id, 'base64url')
  const [result] = await context.database.ask(passkeyStatements.find, [challengeId, credentialId])
  const found = accepted<Found>(result, passkeyRefusals)
  if (credential instanceof AuthError) throw credential
  const { account, signCount, backedUp } = await verified(context, credential, found)
  // Only the owner of the passkey learns these.
  if (account.banned) throw authErrors.userBanned(403)
  if (account.has_email) await requireConfirmed('email', account, context, 403)
  if (account.has_phone) await requireConfirmed('phone', account, context, 403)
  const { ip, userAgent } = originOf(request, context)
  const values = [credentialId, signCount, backedUp, ip, userAgent]
  const [[started] = []] = await context.database.askRows(passkeyStatements.startSession, values)
  const text = started ?? '{}'
  requireAccepted(text, passkeyRefusals)
  const issued = await context.sessions.respond(text, { method: 'passkey' })
  return { text: issued.text }
}

/** @throws AuthError 400 `webauthn_verification_failed` */
async function verified(context: AuthContext, credential: CredentialDto, { challenge, passkey }: Found) {
  if (!passkey) throw verificationFailed('the passkey is not registered here')
  const { account, public_key: publicKey } = passkey
  if (credential.response.userHandle !== userHandleOf(account.id)) {
    throw verificationFailed('response.userHandle is not that of the account of the passkey')
  }
  const expected = {
    party: context.relyingParty(),
    challenge,
    verifiesUser: true,
    publicKey: Buffer.from(publicKey, 'base64'),
  }
  const assertion = await verifyRequest(credential, expected).catch((error: unknown) => {
    throw failedVerification(error)
  })
  // An authenticator decides that when it creates a passkey. https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion
  if (assertion.backupEligible !== passkey.backup_eligible) {
    throw verificationFailed('whether the passkey can be copied to other devices has changed since it was registered')
  }
  return { account, ...assertion }
}
