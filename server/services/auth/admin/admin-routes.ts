// All routes of the administration.
import type { AuthRoute } from '../dialect.ts'
import { auditRoutes } from './audit-routes.ts'
import { oauthClientRoutes } from './oauth-client-routes.ts'
import { userFactorRoutes } from './user-factor-routes.ts'
import { userPasskeyRoutes } from './user-passkey-routes.ts'
import { userRoutes } from './user-routes.ts'

export const adminRoutes: readonly AuthRoute[] = [
  ...userRoutes,
  ...userFactorRoutes,
  ...userPasskeyRoutes,
  ...oauthClientRoutes,
  ...auditRoutes,
]
