// All routes besides the REST resources. The routers and `/openapi.json` are derived from these tables.
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

/** The routes that `/openapi.json` describes. */
export const describedRoutes = (
  tables: readonly { readonly routes: readonly (ServiceRoute & { readonly hidden?: boolean })[] }[],
): readonly ServiceRoute[] => tables.flatMap(({ routes }) => routes).filter(({ hidden }) => hidden !== true)
