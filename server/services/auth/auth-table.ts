// All routes of `/auth/v1`. Add a line for a new table of routes.
import type { AuthRoute } from './auth-route.ts'

export const authRoutes: readonly AuthRoute[] = []
