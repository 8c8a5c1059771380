// All routes of second factors.
import type { AuthRoute } from '../dialect.ts'
import { enrolmentRoutes } from './enrolment-routes.ts'
import { recoveryCodeRoutes } from './recovery-code-routes.ts'
import { verificationRoutes } from './verification-routes.ts'

export const factorRoutes: readonly AuthRoute[] = [...enrolmentRoutes, ...verificationRoutes, ...recoveryCodeRoutes]
