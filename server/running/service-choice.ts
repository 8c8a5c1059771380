// Which services a server has: the setting `services`.
import type { ServiceName } from '../config/config.ts'
import type { SchemaFile } from '../validation/schema-directory.ts'

/** Tables of the program whose bodies have a JSON Schema, and the services that have them. */
const tables: Readonly<Record<string, readonly ServiceName[]>> = {
  'public.profiles': ['profiles', 'reports', 'analysis'],
  'public.reports': ['reports'],
  'public.classification_runs': ['analysis'],
}

/**
 * Whether a JSON Schema applies. Without the services of its table, a project may have a table of its own by that name.
 */
export const isSchemaOf =
  (services: readonly ServiceName[]) =>
  ({ table }: SchemaFile): boolean => {
    const owners = table && tables[`${table.schema}.${table.name}`]
    return owners === undefined || owners.some((owner) => services.includes(owner))
  }

/** The tables of the program that services need. */
export const serviceTablesOf = (
  services: readonly ServiceName[],
): { readonly table: string; readonly services: readonly ServiceName[] }[] =>
  Object.entries(tables)
    .map(([table, owners]) => ({ table, services: owners.filter((owner) => services.includes(owner)) }))
    .filter(({ services: owners }) => owners.length > 0)
