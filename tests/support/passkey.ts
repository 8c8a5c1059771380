// Passkeys of users, at a running service.
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import type { AskAuth, AuthAnswer } from './auth.ts'
import type { Lie, SoftAuthenticator } from './soft-authenticator.ts'

export type Challenge<Options> = { readonly challengeId: string; readonly options: Options }

async function challengeOf<Options>(asked: Promise<AuthAnswer>): Promise<Challenge<Options>> {
  const { status, body, text } = await asked
  if (status !== 200) throw new Error(text)
  return { challengeId: String(body.challenge_id), options: body.options as Options }
}

export const beginRegistration = (ask: AskAuth, token: string) =>
  challengeOf<PublicKeyCredentialCreationOptionsJSON>(
    ask('POST', '/passkeys/registration/options', { token, body: {} }),
  )

export const beginSignIn = (ask: AskAuth) =>
  challengeOf<PublicKeyCredentialRequestOptionsJSON>(ask('POST', '/passkeys/authentication/options', { body: {} }))

/** Answers a challenge. */
export const answerRegistration = (
  ask: AskAuth,
  token: string,
  challengeId: string,
  credential: unknown,
): Promise<AuthAnswer> =>
  ask('POST', '/passkeys/registration/verify', { token, body: { challenge_id: challengeId, credential } })

export const answerSignIn = (ask: AskAuth, challengeId: string, credential: unknown): Promise<AuthAnswer> =>
  ask('POST', '/passkeys/authentication/verify', { body: { challenge_id: challengeId, credential } })

/** Adds a passkey. */
export async function register(
  ask: AskAuth,
  token: string,
  authenticator: SoftAuthenticator,
  lie?: Lie,
): Promise<AuthAnswer> {
  const { challengeId, options } = await beginRegistration(ask, token)
  return answerRegistration(ask, token, challengeId, authenticator.create(options, lie))
}

/** Signs in with a passkey. */
export async function signInWith(ask: AskAuth, authenticator: SoftAuthenticator, lie?: Lie): Promise<AuthAnswer> {
  const { challengeId, options } = await beginSignIn(ask)
  return answerSignIn(ask, challengeId, authenticator.get(options, lie))
}
