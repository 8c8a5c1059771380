// Runs `rowhouse doctor`: looks at settings, database and service, and changes nothing.
import type { Config } from '../../config/config.ts'
import type { Client } from '../../postgres/connection/client.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { version } from '../../common/version.ts'
import { levels } from '../findings.ts'
import { slotName } from '../../postgres/backup/backup-slot.ts'
import { archiveFindings, readArchiveFacts } from './archive.ts'
import { clockFindings, type ClockReading } from './clocks.ts'
import { connectionFindings, extensionFindings, loginFindings, serverSettingFindings } from './database-findings.ts'
import { readFacts, type DatabaseFacts } from './facts.ts'
import type { DoctorFinding, Skipped } from './finding.ts'
import { policyFindings, statementFindings } from './policies.ts'
import { functionsFindings } from './functions-findings.ts'
import { poolerFindings } from './pooler.ts'
import { encryptionOf, examinePooling, readClock } from './probe.ts'
import { realtimeFindings } from './realtime-findings.ts'
import { providerFindings } from './provider-findings.ts'
import { readinessFindings, readService } from './service-probe.ts'
import { mcpFindings } from './mcp-findings.ts'
import { schedulesFindings } from './schedules-findings.ts'
import { settingsFindings } from './settings-findings.ts'
import { storageFindings } from './storage-findings.ts'
import { certificateFindings, databaseTlsFindings, serviceTlsFindings } from './tls.ts'
import { webhooksFindings } from './webhooks-findings.ts'
import { nodeFindings, postgresFindings, serviceVersionFindings } from './versions.ts'

export type DoctorOptions = {
  /** The settings, with those in the database. */
  readonly config: Config
  readonly isEmbedded: boolean
  /** How many servers with these settings use the database. */
  readonly processes: number
  /** Address of the running service; undefined: it is not looked at. */
  readonly url: URL | undefined
  /** Version of Node. */
  readonly node: string
  readonly now: Date
  /** Two connections as the serving role. */
  readonly serving: readonly [Client, Client]
  /** A connection as the owner; the first serving one if there is none. */
  readonly owner: Client
  /** How changes of rows are read from the log, if not as the serving role, or the owner of an embedded database. */
  readonly log: PoolConfig | undefined
  /** Runs `policyFindings` elsewhere: a server must go on meanwhile. */
  readonly slowPolicies?: (() => Promise<readonly DoctorFinding[]>) | undefined
}

export type DoctorResult = {
  /** Errors first. */
  readonly findings: readonly DoctorFinding[]
  readonly skipped: readonly Skipped[]
}

/** @throws the error of a statement: the server is too old, or the connection is lost */
export async function runDoctor(options: DoctorOptions): Promise<DoctorResult> {
  const { config, isEmbedded, processes, now, serving, owner } = options
  const [first, second] = serving
  const { slowPolicies = () => policyFindings((text, values) => first.query(text, values), config) } = options
  const pooling = await examinePooling(first, second)
  const { rows } = await first.query<{ login: string }>('select session_user as login')
  const login = rows[0]?.login ?? ''
  const facts = await readFacts((text, values) => owner.query(text, values), login)
  const statements = await statementFindings((text, values) => owner.query(text, values), login)
  const service = await serviceFindings(options)
  const findings = [
    ...settingsFindings(config, isEmbedded),
    ...providerFindings(config, now.getTime()),
    ...serverSettingFindings(facts),
    ...loginFindings(facts, config, isEmbedded),
    ...nodeFindings(options.node, now),
    ...postgresFindings(facts.version, now, isEmbedded),
    ...clockFindings([await readClock(first), ...service.clocks]),
    ...databaseTlsFindings(encryptionOf(first), now.getTime()),
    ...poolerFindings(pooling, config),
    ...connectionFindings(facts, config, processes),
    ...extensionFindings(facts),
    ...(await slowPolicies()),
    ...(statements ?? []),
    ...(await realtimeFindings(config, {
      connection: options.log,
      client: isEmbedded ? owner : first,
      isPooled: pooling.isPooled,
    })),
    ...(await webhooksFindings(config, owner)),
    ...(await schedulesFindings(
      (text, values) => owner.query(text, values),
      config,
      !isEmbedded || (await isServedEmbedded(owner)),
    )),
    ...(await functionsFindings(config, isEmbedded)),
    ...mcpFindings(config),
    ...storageFindings(withoutArchive(facts, options)),
    ...(isEmbedded ? await backupFindings(facts, options) : []),
    ...service.findings,
  ]
  const severity = ({ level }: DoctorFinding): number => levels.indexOf(level)
  return {
    findings: findings.sort((a, b) => severity(b) - severity(a)),
    skipped: [
      ...service.skipped,
      ...(isEmbedded ? [] : [ownBackups]),
      ...(statements === undefined
        ? [
            {
              area: 'policies',
              reason: 'slow statements: the extension pg_stat_statements is not installed and loaded',
            } as const,
          ]
        : []),
    ],
  }
}

const ownBackups: Skipped = { area: 'backup', reason: 'backups: those of a database of your own are made by its tools' }

/** The slot of the archive has findings of its own. */
const withoutArchive = (facts: DatabaseFacts, { config, isEmbedded }: DoctorOptions): DatabaseFacts =>
  isEmbedded && config.backupDir !== null
    ? { ...facts, slots: facts.slots.filter(({ name }) => name !== slotName) }
    : facts

/** Whether a server runs with the embedded database: one that was started after this program runs for it alone. */
async function isServedEmbedded(owner: Client): Promise<boolean> {
  const { rows } = await owner.query<{ started: number }>(
    'select extract(epoch from pg_catalog.pg_postmaster_start_time())::float8 * 1000 as started',
  )
  return (rows[0]?.started ?? Infinity) < Date.now() - process.uptime() * 1000
}

async function backupFindings(facts: DatabaseFacts, { config, owner, now }: DoctorOptions): Promise<DoctorFinding[]> {
  const isServed = await isServedEmbedded(owner)
  return archiveFindings(await readArchiveFacts(config.backupDir), facts, config, isServed, now.getTime())
}

type ServiceFindings = {
  readonly findings: readonly DoctorFinding[]
  readonly clocks: readonly ClockReading[]
  readonly skipped: readonly Skipped[]
}

async function serviceFindings({ url, now }: DoctorOptions): Promise<ServiceFindings> {
  if (!url)
    return {
      findings: [],
      clocks: [],
      skipped: [{ area: 'service', reason: 'the running service: no --url was given' }],
    }
  const tls = serviceTlsFindings(url)
  try {
    const reading = await readService(url)
    return {
      findings: [
        ...tls,
        ...certificateFindings(url.origin, reading.validTo, now.getTime()),
        ...serviceVersionFindings(reading.server, version),
        ...readinessFindings(url, reading),
      ],
      clocks: reading.clock ? [reading.clock] : [],
      skipped: [],
    }
  } catch (error) {
    const unreachable: DoctorFinding = {
      area: 'service',
      code: 'service_unreachable',
      level: 'ERROR',
      subject: url.origin,
      what: `It does not respond: ${error instanceof Error ? error.message || ('code' in error ? String(error.code) : '') : String(error)}.`,
      why: 'Clients cannot reach it either, if they are where this program runs.',
      advice: 'Start it, or check the URL, the proxy and the firewall.',
    }
    return { findings: [...tls, unreachable], clocks: [], skipped: [] }
  }
}
