// Every route of the service beside the REST resources. The routers and `/openapi.json` are made from these tables.
import type { ServiceRoute } from '../http/service-route.ts'
import type { RouteTable } from '../http/route-router.ts'
import { accountsTable, type AccountsSettings } from '../services/accounts/accounts-table.ts'
import { reportTable, type ReportSettings } from '../services/report/report-routes.ts'
import { operationTables, type OperationParts } from './operations/operation-routes.ts'

export type ServiceRouteParts = AccountsSettings & ReportSettings & OperationParts

/** A new service is a new line here. In `/openapi.json` the routes have the same order. */
export const serviceTables = (parts: ServiceRouteParts): readonly RouteTable[] => [
  accountsTable(parts),
  reportTable(parts),
  ...operationTables(parts),
]

/** What `/openapi.json` describes. */
export const describedRoutes = (tables: readonly RouteTable[]): readonly ServiceRoute[] =>
  tables.flatMap(({ routes }) => routes).filter(({ hidden }) => hidden !== true)
