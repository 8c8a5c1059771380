// Checks the scheme of the `Authorization` header on routes that do not treat unknown schemes as anonymous.
import type { RequestHandler } from 'express'
import { bearerToken } from '../identity/bearer.ts'
import { Failure } from './envelope.ts'

/** Rejects requests with 401 whose `Authorization` header has a scheme other than `Bearer`. */
export const requireBearerScheme: RequestHandler = (request, _response, next) => {
  const { authorization } = request.headers
  if (authorization !== undefined && bearerToken(authorization) === undefined) {
    throw new Failure(401, 'The Authorization header must have the scheme Bearer', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  }
  next()
}
