// Which state of the system catalog settings and schema cache were read from.
import { decodeRow, introspectionQuery, type RunQuery } from './introspection.ts'
import { introspectionSettings } from './load.ts'

/** A value for each system catalog. See `sql/introspection/catalog-version.sql`. */
export type CatalogVersion = Readonly<Record<string, string | null>>

/** The first version with `pg_parameter_acl`. */
const parameterPrivileges = 150_000

/**
 * Reads the version of the catalog. `query` runs the statements within one transaction.
 *
 * @throws the error of the database or of the connection
 */
export async function readCatalogVersion(query: RunQuery): Promise<CatalogVersion> {
  await query(introspectionSettings, [])
  const read = async (name: string): Promise<CatalogVersion> => {
    const [row] = await query(introspectionQuery(name).text, [])
    return row ? decodeRow<CatalogVersion>(row) : {}
  }
  const version = await read('catalog-version')
  const [server] = await query("select current_setting('server_version_num')::int as number", [])
  if (Number(server?.number) < parameterPrivileges) return version
  return { ...version, ...(await read('parameter-privileges-version')) }
}

/** Names of the catalogs whose values differ; empty if nothing has changed. */
export const changedCatalogs = (before: CatalogVersion, after: CatalogVersion): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]).sort()
