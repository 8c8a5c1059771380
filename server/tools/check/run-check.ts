// Runs `rowhouse check` on one connection: the list of exposed objects, and all findings.
import type { Config } from '../../config/config.ts'
import { isInternalRole } from '../../identity/internal-role.ts'
import { checkExposure, type Checked } from './exposure-findings.ts'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { exposureOf } from './exposure.ts'
import { missingTables, type MissingTable } from './missing-tables.ts'
import { checkStorage, type StorageFinding } from './storage-findings.ts'
import { readCheckCatalogue, type CheckCatalogue, type CheckScope } from './catalogue.ts'
import { exposedFindings, joinFindings, missingFindings, storageFindings } from './exposed-findings.ts'
import { levels } from '../findings.ts'
import type { LintFinding } from './finding.ts'
import { runLints } from './lints.ts'
import { measureFindings } from './measure.ts'
import { unseenBy, type Unseen } from './unseen.ts'
import { settingFunctions, type FunctionSettings } from './setting-functions.ts'

export type CheckSettings = Pick<Config, 'dbSchemas' | 'dbExtraSearchPath' | 'dbAnonRole' | 'services'> &
  FunctionSettings &
  Partial<Pick<Config, 'authMailerAutoconfirm'>>

export type CheckOptions = {
  /** Whether to measure what missing indexes cost. */
  readonly measure: boolean
}

export type CheckResult = {
  readonly exposed: readonly Checked[]
  readonly missing: readonly MissingTable[]
  readonly storage: readonly StorageFinding[]
  /** Findings of all lints, dismissed ones included; errors first. */
  readonly findings: readonly LintFinding[]
  /** Where the connected role could not look. */
  readonly unseen: readonly Unseen[]
}

/**
 * Looks at the database, and changes nothing: all transactions are read-only.
 *
 * @param query runs statements on one connection, preferably of `authenticator`
 * @throws PostgreSQL's error 3F000 when an exposed schema does not exist
 */
export async function runCheck(
  query: RunClientQuery,
  settings: CheckSettings,
  { measure }: CheckOptions,
): Promise<CheckResult> {
  const { dbSchemas, dbExtraSearchPath, services } = settings
  const missing = await missingTables(query, services)
  const catalogue = await readCatalogue(query, scopeOf(settings))
  const exposed = checkExposure(exposureOf(catalogue))
  const storage = checkStorage(catalogue)
  const { findings, unindexed, volatile } = runLints(catalogue)
  const searchPath = [...dbSchemas, ...dbExtraSearchPath]
  const measured = measure
    ? await measureFindings(query, unindexed, { searchPath, isVolatile: (oid) => volatile.has(oid) })
    : unindexed.map((it) => it.finding)
  const all = joinFindings(
    [...findings, ...measured],
    [...exposedFindings(exposed, catalogue.version), ...storageFindings(storage), ...missingFindings(missing)],
  )
  const severity = ({ level }: LintFinding): number => levels.indexOf(level)
  return {
    exposed,
    missing,
    storage,
    findings: all.sort((a, b) => severity(b) - severity(a)),
    unseen: unseenBy(catalogue),
  }
}

/** The roles that requests can have. */
export const requestRoles = ({ exposed }: Pick<CheckResult, 'exposed'>): string[] =>
  [...new Set(exposed.flatMap(({ roles }) => roles.map(({ name }) => name)))].filter((name) => !isInternalRole(name))

/** What the settings say about the catalogue. */
export const scopeOf = (settings: CheckSettings): CheckScope => ({
  schemas: settings.dbSchemas,
  anonymousRole: settings.dbAnonRole,
  extraSearchPath: settings.dbExtraSearchPath,
  settingFunctions: settingFunctions(settings),
  confirmsAddresses: settings.authMailerAutoconfirm ?? false,
})

/**
 * Reads the catalogue in a transaction of its own.
 *
 * @throws PostgreSQL's error 3F000 when an exposed schema does not exist
 */
export async function readCatalogue(query: RunClientQuery, scope: CheckScope): Promise<CheckCatalogue> {
  await query('begin transaction isolation level repeatable read, read only')
  try {
    await query('select quote_ident(name)::regnamespace from json_array_elements_text($1::json) as names (name)', [
      JSON.stringify(scope.schemas),
    ])
    return await readCheckCatalogue(query, scope)
  } finally {
    await query('rollback')
  }
}
