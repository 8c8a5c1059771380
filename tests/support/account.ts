// Signed-in accounts for tests.
import { strictEqual } from 'node:assert/strict'
import type { Answer, Call } from './call.ts'

export type SignedIn = {
  readonly id: string
  readonly email: string
  readonly cookie: string
  /** Sends a request with the session cookie. */
  readonly call: Call
}

export const password = 'correct horse'

/** The `details` of a response. */
export const detailsOf = <T = Readonly<Record<string, unknown>>>(answer: Answer): T =>
  (answer.body as { details: T }).details

/** Signs in to an existing account. */
export async function signIn(call: Call, email: string, secret = password): Promise<SignedIn> {
  const answer = await call('POST', '/auth/signin', { body: { email, password: secret } })
  strictEqual(answer.status, 200, answer.text)
  return signedIn(call, email, answer)
}

/** Creates an account and signs in to it. */
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

/** The body of an error response, with the first error of each field. */
export const fail = (statusCode: number, message: string | RegExp, fieldErrors?: Readonly<Record<string, string>>) => ({
  status: 'fail',
  statusCode,
  message,
  ...(fieldErrors && { details: { fieldErrors } }),
})

/** The body of a 400 response for invalid values. */
export const invalid = (...errors: (readonly [field: string, message: string])[]) =>
  fail(400, 'Validation failed', Object.fromEntries(errors))
