// The router of `/auth/v1`.
import type { RequestHandler, Router } from 'express'
import { answerCrossOrigin, tokenRules, type CrossOriginRules } from '../../http/cross-origin.ts'
import { exactRouter } from '../../http/exact-router.ts'
import { mountRoutes } from '../../http/route-router.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { authBodyReader } from './auth-body.ts'
import type { AuthContext } from './auth-context.ts'
import { AuthError } from './auth-error.ts'
import { authErrorResponder } from './auth-response.ts'
import { authPath } from './auth-route.ts'
import { authRoutes } from './auth-table.ts'

export type AuthRouterOptions = {
  readonly context: AuthContext
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  /** Origins that may use the service; empty for every origin. */
  readonly allowedOrigins: () => readonly string[]
  /** Receives errors that are not the client's. */
  readonly onError: (error: unknown) => void
}

const allowedHeaders = [
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

/** @param moreHeaders further request headers that are allowed, read at each preflight request */
const crossOriginRules = (moreHeaders: () => readonly string[]): CrossOriginRules => ({
  ...tokenRules,
  methods: 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
  headers: () => [...allowedHeaders, ...moreHeaders()].join(', '),
  exposed: 'X-Total-Count, Link, X-Supabase-Api-Version, x-sb-error-code, Retry-After, Location',
})

/** Responds to every request: errors, unknown paths and methods have GoTrue's format. */
export function authRouter({ context, validator, allowedOrigins, onError }: AuthRouterOptions): Router {
  const router = exactRouter()
  const rules = crossOriginRules(() => context.settings().authCorsAllowedHeaders)
  router.use((request, response, next) => {
    if (!answerCrossOrigin(request, response, allowedOrigins(), rules)) next()
  })
  const tools = { context, validator, readBody: authBodyReader() }
  mountRoutes(router, authRoutes, { basePath: authPath, tools, methodNotAllowed })
  router.use(() => {
    throw new AuthError(404, null, 'Not Found')
  })
  router.use(authErrorResponder(onError))
  return router
}

const methodNotAllowed =
  (...allowed: readonly string[]): RequestHandler =>
  () => {
    throw new AuthError(405, null, 'Method Not Allowed', { headers: { Allow: allowed.join(', ') } })
  }
