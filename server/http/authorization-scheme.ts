// Checks the scheme of the `Authorization` header on routes that do not treat unknown schemes as anonymous.
import { bearerToken } from '../identity/bearer.ts'
import { Failure } from './envelope.ts'
import type { Guard } from './router.ts'

/** Rejects requests with 401 whose `Authorization` header has a scheme other than `Bearer`. */
export const requireBearerScheme: Guard = (request) => {
  const { authorization } = request.headers
  if (authorization !== undefined && bearerToken(authorization) === undefined) {
    throw new Failure(401, 'The Authorization header must have the scheme Bearer', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  return false
}
