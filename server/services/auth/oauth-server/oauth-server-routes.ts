// The routes of the OAuth server.
import type { AuthRoute } from '../dialect.ts'
import { authorizeRoute } from './authorize-route.ts'
import { consentRoutes } from './consent-routes.ts'
import { grantRoutes } from './grant-routes.ts'
import { registrationRoute } from './registration-route.ts'
import { tokenRoute } from './token-route.ts'

export const oauthServerRoutes: readonly AuthRoute[] = [
  registrationRoute,
  authorizeRoute,
  ...consentRoutes,
  tokenRoute,
  ...grantRoutes,
]
