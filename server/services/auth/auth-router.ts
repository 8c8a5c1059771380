// The router of `/auth/v1`.
import type { RequestHandler, Router } from 'express'
import { exactRouter } from '../../http/exact-router.ts'
import { mountRoutes } from '../../http/route-router.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { authBodyReader } from './auth-body.ts'
import type { AuthContext } from './auth-context.ts'
import { authCors } from './auth-cors.ts'
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

/** Responds to every request: errors, unknown paths and methods have GoTrue's format. */
export function authRouter({ context, validator, allowedOrigins, onError }: AuthRouterOptions): Router {
  const router = exactRouter()
  router.use(authCors(allowedOrigins, () => context.settings().authCorsAllowedHeaders))
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
