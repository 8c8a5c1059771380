// All routes besides the REST resources. The routers and `/openapi.json` are derived from these tables.
import type { Config } from '../config/config.ts'
import { signsIn } from '../config/signing-in.ts'
import type { ServiceRoute } from '../http/service-route.ts'
import type { RouteTable } from '../http/router.ts'
import { accountsTable, type AccountsSettings } from '../services/accounts/accounts-table.ts'
import { reportTable, type ReportSettings } from '../services/report/report-routes.ts'
import { operationTables, type OperationParts } from './operations/operation-routes.ts'

export type ServiceRouteParts = ReportSettings &
  OperationParts & {
    /** Undefined without the service `auth`. */
    readonly accounts: AccountsSettings | undefined
  }

/** The tables of the chosen services, in the order of `/openapi.json`. Add a line for a new service. */
export const serviceTables = (parts: ServiceRouteParts): readonly RouteTable[] => [
  ...(parts.accounts ? [accountsTable(parts.accounts)] : []),
  ...(parts.services.includes('reports') ? [reportTable(parts)] : []),
  ...operationTables(parts),
]

type DescribedTable = { readonly routes: readonly (ServiceRoute & { readonly hidden?: boolean })[] }

/** Loads the tables of the chosen services whose routers load them at their first request. */
export const loadTables = async ({
  services,
  imageBasePath,
}: Pick<Config, 'services' | 'imageBasePath'>): Promise<readonly DescribedTable[]> => [
  ...(signsIn(services) ? [{ routes: (await import('../services/auth/auth-table.ts')).authRoutes }] : []),
  ...(services.includes('analysis')
    ? [{ routes: (await import('../services/analysis/analysis-routes.ts')).analysisRoutes(imageBasePath) }]
    : []),
  ...(services.includes('storage')
    ? [{ routes: (await import('../services/storage/storage-table.ts')).storageRoutes }]
    : []),
  ...(services.includes('realtime')
    ? [{ routes: (await import('../services/realtime/realtime-table.ts')).realtimeRoutes }]
    : []),
  ...(services.includes('functions')
    ? [{ routes: (await import('../services/functions/functions-table.ts')).functionsRoutes }]
    : []),
]

/** The routes that `/openapi.json` describes. */
export const describedRoutes = (tables: readonly DescribedTable[]): readonly ServiceRoute[] =>
  tables.flatMap(({ routes }) => routes).filter(({ hidden }) => hidden !== true)
