// What the descriptions of the account routes have in common.
import { failure } from '../../http/service-answer.ts'
import type { ServiceResponse } from '../../http/service-route.ts'

/** 429 */
export const tooMany: ServiceResponse = {
  ...failure('Too many attempts.'),
  headers: { 'Retry-After': 'Seconds after which to try again.' },
}

/** 409 */
export const addressTaken = failure('The e-mail address is registered already.')

/** Headers of responses that end the session. */
export const clearsCookie = { 'Set-Cookie': 'Takes the cookie away.' }
