// What the pages of operations and requests call: the functions of the commands, on the database that is served.
import { resolve } from 'node:path'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { Failure } from '../../http/envelope.ts'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  setApiKeyLimits,
  type ApiKey,
} from '../../identity/api-key/api-key.ts'
import type { Client } from '../../postgres/connection/client.ts'
import { allMigrations, pendingMigrations } from '../../postgres/migrate.ts'
import { embeddedVariable } from '../../running/embedded-environment.ts'
import type { ServedSettings } from '../../running/serve-tools.ts'
import type {
  BackupReport,
  DoctorReport,
  KeyState,
  MigrationReport,
} from '../../services/console/operation-protocol.ts'
import type { OperationTools } from '../../services/console/operation-tools.ts'
import type { SlowStatement } from '../../services/console/request-protocol.ts'
import { describeBackups } from '../backups/run-backup.ts'
import { connectTo } from '../command-line/connection.ts'
import type { DatabaseAddress } from '../command-line/database-address.ts'
import { examine, healthyAreas } from '../command-line/doctor-report.ts'
import { requireKeys, withKeyRights } from '../command-line/key-rights.ts'
import { isChanged } from '../command-line/migration-status.ts'
import type { DoctorFinding } from '../doctor/finding.ts'
import { slowestStatements } from '../doctor/slowest-statements.ts'
import { Turns } from '../explain/turns.ts'
import { projectStatus } from '../migrations/project-migrations.ts'
import { webhookMigrationFor } from './webhook-migration.ts'
import { settingStates } from './setting-states.ts'
import { forPeople } from './tool-failure.ts'

/** Operations that each use connections of their own at the same time. */
const maxAtOnce = 3

type Served = ServedSettings & {
  readonly isDevelopment: boolean
  /** What the doctor says of policies. */
  readonly slowPolicies: () => Promise<DoctorFinding[]>
}

export function createOperationTools(served: Served): OperationTools {
  const turns = new Turns(maxAtOnce)
  const inTurn = <T>(use: () => Promise<T>): Promise<T> => forPeople(() => turns.take(use))
  const asOwner = <T>(use: (client: Client) => Promise<T>): Promise<T> =>
    inTurn(() => connectTo(addressOf(served, 'owner'), use))
  const withKeys = <T>(use: (client: Client) => Promise<T>): Promise<T> =>
    inTurn(() =>
      withKeyRights(served.config, () =>
        connectTo(addressOf(served, 'owner'), async (client) => {
          await requireKeys((text, values) => client.query(text, values))
          return use(client)
        }),
      ),
    )
  return {
    migrations: () => asOwner((client) => migrationReport(client, served)),
    settings: () =>
      inTurn(() => connectTo(addressOf(served, 'authenticator'), (client) => settingStates(served, client))),
    doctor: (url) => inTurn(() => doctorReport(served, url)),
    backups: () => forPeople(() => backupReport(served)),
    listKeys: () => withKeys(async (client) => (await listApiKeys(client)).map(keyState)),
    createKey: ({ role, user, label, days }) =>
      withKeys(async (client) => {
        const wanted = { role, userId: user, label, expiresAt: days === undefined ? undefined : inDays(days) }
        const { key, ...created } = await checked(() => createApiKey(client, wanted))
        return { ...keyState(created), key }
      }),
    revokeKey: (id) => withKeys((client) => revokeApiKey(client, id)),
    limitKey: (id, limits) => withKeys((client) => checked(() => setApiKeyLimits(client, id, limits))),
    webhookMigration: (wanted) =>
      asOwner((client) => webhookMigrationFor(client, wanted, { runsSql: served.isDevelopment })),
    slowStatements: () =>
      connectTo(addressOf(served, 'owner'), (client) => slowStatements((text, values) => client.query(text, values))),
  }
}

const isEmbedded = ({ env }: ServedSettings): boolean => env[embeddedVariable] !== undefined

/** Without a role that owns the schemas, its statements run as the login role, as far as it may. */
const addressOf = (served: ServedSettings, role: 'owner' | 'authenticator'): DatabaseAddress => ({
  uri: role === 'owner' ? (served.config.migrationDatabaseUrl ?? served.uri) : served.uri,
  env: served.env,
  isEmbedded: isEmbedded(served),
})

/** @throws Failure 422 for what is wrong with a key or its limits */
async function checked<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof Error && error.constructor === Error) throw new Failure(422, error.message, { cause: error })
    throw error
  }
}

const inDays = (days: number): Date => new Date(Date.now() + days * 24 * 3_600_000)

const keyState = ({ createdAt, expiresAt, revokedAt, ...key }: ApiKey): KeyState => ({
  ...key,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt?.toISOString() ?? null,
  revokedAt: revokedAt?.toISOString() ?? null,
})

async function migrationReport(client: Client, { config }: ServedSettings): Promise<MigrationReport> {
  const { services } = config
  const pending = await pendingMigrations(client, { services })
  const { folder, files, seeds, ignored } = await projectStatus(client, config)
  return {
    server: { applied: (await allMigrations({ services })).filter((name) => !pending.includes(name)), pending },
    folder,
    files: files.map((file) => ({
      name: file.name,
      state: file.state,
      needsAttention: isChanged(file),
      appliedAt: file.appliedAt,
      done: file.done,
      statements: file.statements,
    })),
    seeds,
    ignored,
  }
}

async function doctorReport(served: Served, url: URL | undefined): Promise<DoctorReport> {
  const { config, env, slowPolicies } = served
  const result = await examine(
    { config, url, processes: 1, env, slowPolicies },
    { withAddress: (_config, { role }, use) => use(addressOf(served, role)), connectTo },
  )
  return {
    findings: result.findings.map((finding) => ({ ...finding, fix: finding.fix ?? null })),
    healthy: healthyAreas(result),
    skipped: result.skipped,
  }
}

async function backupReport(served: ServedSettings): Promise<BackupReport> {
  const folder = served.config.backupDir
  if (!isEmbedded(served) || folder === null) {
    return { isEmbedded: isEmbedded(served), folder, backups: [], archivedUntil: null }
  }
  const { backups, until } = await describeBackups(folder)
  return {
    isEmbedded: true,
    folder: resolve(folder),
    backups: backups.map(({ name, stoppedAt, majorVersion, bytes }) => ({
      name,
      stoppedAt: stoppedAt.toISOString(),
      majorVersion,
      bytes,
    })),
    archivedUntil: until?.toISOString() ?? null,
  }
}

const shownStatements = { mean: 0, calls: 1, most: 50, length: 10_000 }

async function slowStatements(query: RunClientQuery): Promise<readonly SlowStatement[] | null> {
  const statements = await slowestStatements(query, 'authenticator', shownStatements)
  return statements?.map(({ text, calls, mean, total }) => ({ text, calls, mean, total, example: null })) ?? null
}
