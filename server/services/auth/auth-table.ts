// All routes of `/auth/v1`. Add a line for a new table of routes.
import { adminRoutes } from './admin/admin-routes.ts'
import type { AuthRoute } from './auth-route.ts'
import { infoRoutes } from './info-routes.ts'
import { factorRoutes } from './mfa/factor-routes.ts'
import { refusedRoutes } from './refused-routes.ts'
import { signOutRoutes } from './sign-out-routes.ts'
import { signUpRoutes } from './sign-up-routes.ts'
import { tokenRoutes } from './token-routes.ts'
import { userRoutes } from './user-routes.ts'

export const authRoutes: readonly AuthRoute[] = [
  ...infoRoutes,
  ...signUpRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...signOutRoutes,
  ...factorRoutes,
  ...adminRoutes,
  ...refusedRoutes,
]
