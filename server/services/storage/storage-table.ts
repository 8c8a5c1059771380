// All routes of `/storage/v1`. Add a line for a new table of routes.
import { bucketRoutes } from './bucket-routes.ts'
import { changeRoutes } from './change-routes.ts'
import { listRoutes } from './list-routes.ts'
import { objectRoutes } from './object-routes.ts'
import { tusRoutes } from './resumable/tus-routes.ts'
import { renderRoutes } from './render/render-routes.ts'
import { signRoutes } from './sign-routes.ts'
import { statusRoutes } from './status-routes.ts'
import type { StorageRoute } from './dialect.ts'

export const storageRoutes: readonly StorageRoute[] = [
  ...bucketRoutes,
  ...objectRoutes,
  ...listRoutes,
  ...changeRoutes,
  ...signRoutes,
  ...tusRoutes,
  ...renderRoutes,
  ...statusRoutes,
]
