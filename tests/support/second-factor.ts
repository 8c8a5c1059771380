// Second factors of users, at a running service.
import { Secret, TOTP } from 'otpauth'
import { sessionOf, type AskAuth, type AuthAnswer, type SessionBody } from './auth.ts'

export type Factor = { readonly id: string; readonly secret: string }

/** The code of an authenticator app. @param steps time steps from now */
export const codeOfApp = ({ secret }: Pick<Factor, 'secret'>, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 })

/** A code that is always wrong: not one of the three that are accepted. */
export function wrongCode(factor: Pick<Factor, 'secret'>): string {
  const right = new Set([-2, -1, 0, 1, 2].map((steps) => codeOfApp(factor, steps)))
  return ['111111', '222222', '333333', '444444', '555555', '666666'].find((code) => !right.has(code)) ?? ''
}

/** Adds an authenticator app that has to be verified. */
export async function enroll(ask: AskAuth, token: string, friendlyName = 'app'): Promise<Factor> {
  const { status, body, text } = await ask('POST', '/factors', {
    token,
    body: { factor_type: 'totp', friendly_name: friendlyName },
  })
  if (status !== 200) throw new Error(text)
  return { id: String(body.id), secret: String((body.totp as { secret: string }).secret) }
}

/** Begins to verify a factor. @returns the id of the challenge */
export async function challenge(ask: AskAuth, token: string, { id }: Pick<Factor, 'id'>): Promise<string> {
  const { status, body, text } = await ask('POST', `/factors/${id}/challenge`, { token, body: {} })
  if (status !== 200) throw new Error(text)
  return String(body.id)
}

/** Sends a code for a new challenge. */
export const verify = async (ask: AskAuth, token: string, factor: Factor, code: string): Promise<AuthAnswer> =>
  ask('POST', `/factors/${factor.id}/verify`, {
    token,
    body: { challenge_id: await challenge(ask, token, factor), code },
  })

/** Adds an authenticator app, and raises the session to aal2 with it. */
export async function raise(
  ask: AskAuth,
  token: string,
): Promise<{ readonly factor: Factor; readonly session: SessionBody }> {
  const factor = await enroll(ask, token)
  return { factor, session: sessionOf(await verify(ask, token, factor, codeOfApp(factor))) }
}
