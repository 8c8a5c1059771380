// All routes of `/realtime/v1`. Add a line for a new table of routes.
import { broadcastRoutes } from './broadcast-routes.ts'
import { changeRoutes } from './change-routes.ts'
import type { RealtimeRoute } from './dialect.ts'

export const realtimeRoutes: readonly RealtimeRoute[] = [...broadcastRoutes, ...changeRoutes]
