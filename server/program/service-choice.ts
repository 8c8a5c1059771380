// Which services a server has: the setting `services`.
import type { ServiceName } from '../config/config.ts'
import type { SchemaFile } from '../validation/schema-directory.ts'

/** Tables of the program whose bodies have a JSON Schema, and the services that have them. */
const tables: Readonly<Record<string, readonly ServiceName[]>> = {
  'public.profiles': ['profiles', 'reports', 'analysis'],
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
