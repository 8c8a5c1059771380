// Tables of the program that a database lacks, because it was migrated for other services.
import type { ServiceName } from '../../config/config.ts'
import { serviceTablesOf } from '../../running/service-choice.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'

export type MissingTable = {
  /** `public.reports` */
  readonly table: string
  /** The chosen services that need it. */
  readonly services: readonly ServiceName[]
}

/** The tables of the services that do not exist. None in a database that the program never migrated. */
export async function missingTables(query: RunClientQuery, services: readonly ServiceName[]): Promise<MissingTable[]> {
  const needed = serviceTablesOf(services)
  const { rows } = await query(
    `select nspname || '.' || relname as name
     from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
     where nspname || '.' || relname = any ($1)`,
    [['rowhouse.migrations', ...needed.map(({ table }) => table)]],
  )
  const existing = new Set(rows.map(({ name }) => name))
  return existing.has('rowhouse.migrations') ? needed.filter(({ table }) => !existing.has(table)) : []
}

/** Says what to do about it. */
export const describeMissing = ({ table, services }: MissingTable): string =>
  `missing table ${table} of ${services.join(', ')}: run rowhouse migrate, or leave the service out (SERVICES)`
