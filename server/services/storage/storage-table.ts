// All routes of `/storage/v1`. Add a line for a new table of routes.
import type { StorageRoute } from './storage-route.ts'

export const storageRoutes: readonly StorageRoute[] = []
