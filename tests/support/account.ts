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

/** The `details` of a response. */
export const detailsOf = <T = Readonly<Record<string, unknown>>>(answer: Answer): T =>
  (answer.body as { details: T }).details

/** Signs in to an account that exists. */
export async function signIn(call: Call, email: string, secret = password): Promise<SignedIn> {
  const answer = await call('POST', '/auth/signin', { body: { email, password: secret } })
  strictEqual(answer.status, 200, answer.text)
  return signedIn(call, email, answer)
}

/** Makes an account, which signs in to it. */
export async function signUp(call: Call, email: string): Promise<SignedIn> {
  const answer = await call('POST', '/auth/signup', { body: { email, firstName: 'Test', password } })
  strictEqual(answer.status, 201, answer.text)
  return signedIn(call, email, answer)
}

function signedIn(call: Call, email: string, answer: Answer): SignedIn {
  const cookie = answer.cookie ?? ''
  return {
    id: detailsOf<{ id: string }>(answer).id,
    email,
    cookie,
    call: (method, path, more = {}) => call(method, path, { ...more, headers: { Cookie: cookie, ...more.headers } }),
  }
}

/** The body of a failure, with what is wrong first with each field. */
export const fail = (statusCode: number, message: string | RegExp, fieldErrors?: Readonly<Record<string, string>>) => ({
  status: 'fail',
  statusCode,
  message,
  ...(fieldErrors && { details: { fieldErrors } }),
})

/** The body of 400 for values that are wrong. */
export const invalid = (...errors: (readonly [field: string, message: string])[]) =>
  fail(400, 'Validation failed', Object.fromEntries(errors))
