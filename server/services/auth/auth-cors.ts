// CORS of `/auth/v1`.
import type { RequestHandler } from 'express'
import { answerTokenCors, type TokenCors } from '../../http/token-cors.ts'

const alwaysAllowed = [
  'Accept',
  'Authorization',
  'Content-Type',
  'apikey',
  'X-Client-IP',
  'X-Client-Info',
  'X-JWT-AUD',
  'X-Supabase-Api-Version',
  'X-Request-Id',
]

/**
 * Sets the headers, and responds to preflight requests.
 *
 * @param origins origins that may use the service, read at each request; empty for every origin
 * @param moreHeaders further request headers that are allowed, read at each preflight request
 */
export function authCors(origins: () => readonly string[], moreHeaders: () => readonly string[]): RequestHandler {
  const rules: TokenCors = {
    methods: 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    exposedHeaders: 'X-Total-Count, Link, X-Supabase-Api-Version, x-sb-error-code, Retry-After, Location',
    allowedHeaders: () => [...alwaysAllowed, ...moreHeaders()].join(', '),
  }
  return (request, response, next) => {
    if (!answerTokenCors(request, response, origins(), rules)) next()
  }
}
