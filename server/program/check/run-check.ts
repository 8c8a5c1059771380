// Runs `rowhouse check` on one connection: the list of exposed objects, and all findings.
import type { Config } from '../../config/config.ts'
import { checkExposure, type Checked } from '../operations/check.ts'
import { readExposure, type RunClientQuery } from '../operations/exposure.ts'
import { missingTables, type MissingTable } from '../operations/missing-tables.ts'
import { checkStorage, readStorageExposure, type StorageFinding } from '../operations/storage-check.ts'
import { readCheckCatalogue, type CheckCatalogue } from './catalogue.ts'
import { exposedFindings, joinFindings, missingFindings, storageFindings } from './exposed-findings.ts'
import { levels, type LintFinding } from './finding.ts'
import { runLints } from './lints.ts'
import { measureFindings } from './measure.ts'

export type CheckSettings = Pick<Config, 'dbSchemas' | 'dbExtraSearchPath' | 'dbAnonRole' | 'services'> &
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
}

/** Roles of Supabase's clients, checked if they exist. */
const wellKnown = ['anon', 'authenticated', 'service_role']

/**
 * Looks at the database, and changes nothing: all transactions are read-only.
 *
 * @param query runs statements on one connection, preferably of `authenticator`
 * @throws PostgreSQL's error 3F000 when an exposed schema does not exist
 */
export async function runCheck(
  query: RunClientQuery,
  { dbSchemas, dbExtraSearchPath, dbAnonRole, services, authMailerAutoconfirm = false }: CheckSettings,
  { measure }: CheckOptions,
): Promise<CheckResult> {
  const roles = dbAnonRole === null ? wellKnown : [...wellKnown, dbAnonRole]
  const exposed = checkExposure(await readExposure(query, dbSchemas, roles))
  const missing = await missingTables(query, services)
  const storageExposure = await readStorageExposure(query)
  const storage = storageExposure ? checkStorage(storageExposure) : []
  const { findings, unindexed, volatile } = runLints(
    await readCatalogue(query, {
      schemas: dbSchemas,
      anonymousRole: dbAnonRole,
      confirmsAddresses: authMailerAutoconfirm,
    }),
  )
  const searchPath = [...dbSchemas, ...dbExtraSearchPath]
  const measured = measure
    ? await measureFindings(query, unindexed, { searchPath, isVolatile: (oid) => volatile.has(oid) })
    : unindexed.map((it) => it.finding)
  const all = joinFindings(
    [...findings, ...measured],
    [...exposedFindings(exposed), ...storageFindings(storage), ...missingFindings(missing)],
  )
  const severity = ({ level }: LintFinding): number => levels.indexOf(level)
  return { exposed, missing, storage, findings: all.sort((a, b) => severity(b) - severity(a)) }
}

async function readCatalogue(
  query: RunClientQuery,
  scope: Parameters<typeof readCheckCatalogue>[1],
): Promise<CheckCatalogue> {
  await query('begin transaction isolation level repeatable read, read only')
  try {
    return await readCheckCatalogue(query, scope)
  } finally {
    await query('rollback')
  }
}
