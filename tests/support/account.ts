// Accounts of a test, signed in.
import { strictEqual } from 'node:assert/strict'
import type { Answer, Call } from './call.ts'

export type SignedIn = {
  readonly id: string
  readonly email: string
  readonly cookie: string
  /** A call with the session's cookie. */
  readonly call: Call
}

export const password = 'correct horse'

/** The `data` of an answer. */
export const dataOf = <T = Readonly<Record<string, unknown>>>(answer: Answer): T => (answer.body as { data: T }).data

/** Signs in to an account that exists. */
export async function signIn(call: Call, email: string, secret = password): Promise<SignedIn> {
  const answer = await call('POST', '/auth/sign-in', { body: { email, password: secret } })
  strictEqual(answer.status, 200, answer.text)
  const cookie = answer.cookie ?? ''
  return {
    id: dataOf<{ id: string }>(answer).id,
    email,
    cookie,
    call: (method, path, more = {}) => call(method, path, { ...more, headers: { Cookie: cookie, ...more.headers } }),
  }
}

export async function signUp(call: Call, email: string): Promise<SignedIn> {
  await call('POST', '/auth/register', { body: { email, password } })
  return signIn(call, email)
}
