// Responses that the descriptions of the account routes share.
import { failure } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'

/** 429 */
export const tooMany: ServiceResponse = {
  ...failure('Too many attempts.'),
  headers: { 'Retry-After': 'Seconds until the next attempt.' },
}

/** 409 */
export const addressTaken = failure('The e-mail address is already registered.')

/** Headers of responses that begin a session of a cookie. */
export const setsCookie = { 'Set-Cookie': 'The cookie `session`, and `__Host-session` when cookies are secure.' }

/** Headers of responses that end the session. */
export const clearsCookie = { 'Set-Cookie': 'Deletes the session cookies.' }
