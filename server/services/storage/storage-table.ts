// All routes of `/storage/v1`. Add a line for a new table of routes.
import { changeRoutes } from './change-routes.ts'
import { listRoutes } from './list-routes.ts'
import type { StorageRoute } from './storage-route.ts'

export const storageRoutes: readonly StorageRoute[] = [...listRoutes, ...changeRoutes]
