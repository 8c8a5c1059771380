// Lets Postgres replay the log of a restored backup.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseLsn } from '../../common/wal-position.ts'
import { withClient } from '../connection/client.ts'
import { connectionConfig } from '../connection/pool-config.ts'
import type { Binaries } from '../embedded/binaries.ts'
import type { Draft } from '../embedded/cluster.ts'
import { addressesOf, prepareLog, startWithRetries } from '../embedded/embedded.ts'
import { EmbeddedDatabaseError } from '../embedded/embedded-error.ts'
import { ensureSecrets } from '../embedded/secrets.ts'
import type { SystemUser } from '../embedded/system-user.ts'
import { BackupError } from './backup-error.ts'
import { backupSecrets } from './base-backup.ts'
import type { RestorePlan } from './restore-plan.ts'
import type { RestoreTime } from './restore-time.ts'
import { historyName } from './wal-segment.ts'

/** Milliseconds that recovery may take. */
const recoveryTimeout = 24 * 3600 * 1000

export type Recovered = {
  readonly timeline: number
  readonly history: string
  /** How far the log of the new timeline is written. */
  readonly position: bigint
  readonly segmentSize: number
  readonly lastTransaction: string | null
}

export type RecoveryTools = {
  readonly binaries: Binaries
  readonly user: SystemUser | null
  readonly log: (message: string) => void
}

type RecoveryOptions = RecoveryTools & {
  /** Folder of the backup. */
  readonly backup: string
}

/**
 * Starts the server, which replays the log and begins a new timeline, and stops it again.
 *
 * @param draft contains the backup and the log
 * @throws BackupError when the log ends too early; EmbeddedDatabaseError
 */
export async function recover(draft: Draft, plan: RestorePlan, options: RecoveryOptions): Promise<Recovered> {
  if (!plan.until) return recoverTo(draft, plan, undefined, options)
  try {
    return await recoverTo(draft, plan, plan.until, options)
  } catch (error) {
    const isShort = error instanceof EmbeddedDatabaseError && error.message.includes(endedBefore)
    if (!isShort) throw error
    if (plan.missing !== undefined) {
      throw new BackupError(
        `The archive lacks the segment ${plan.missing} of the log, which was written before ${plan.until.text}. Restore to an earlier time.`,
        { cause: error },
      )
    }
    // Nothing was committed from there to the given time, of which the archive has everything.
    return recoverTo(draft, plan, undefined, options)
  }
}

/** What the server says when it has seen no transaction after the time where it should stop. */
const endedBefore = 'recovery ended before configured recovery target was reached'

async function recoverTo(
  { cluster, dataDir }: Draft,
  { timeline, backup }: RestorePlan,
  until: RestoreTime | undefined,
  { binaries, user, backup: folder }: RecoveryOptions,
): Promise<Recovered> {
  const logFile = await prepareLog(dataDir)
  const { size } = await stat(logFile).catch(() => ({ size: 0 }))
  const postmaster = await startWithRetries({
    binaries,
    cluster,
    user,
    logFile,
    timeout: recoveryTimeout,
    settings: {
      // Everything that recovery needs is in pg_wal.
      restore_command: 'false',
      recovery_target_timeline: String(timeline ?? backup.timeline),
      recovery_target_action: 'promote',
      // Otherwise the server is ready before recovery has ended.
      hot_standby: 'off',
      ...(until ? { recovery_target_time: until.text } : {}),
    },
  })
  try {
    const { superuserPassword } = await ensureSecrets(join(folder, backupSecrets))
    const described = await describeTimeline(superuserPassword, postmaster.port)
    const history = await readFile(join(cluster, 'pg_wal', historyName(described.timeline)), 'utf8')
    const messages = (await readFile(logFile)).toString('utf8', size)
    const [, lastTransaction = null] = [...messages.matchAll(lastTransactionLine)].at(-1) ?? []
    return { ...described, history, segmentSize: backup.segmentSize, lastTransaction }
  } finally {
    await postmaster.stop()
  }
}

const lastTransactionLine = /last completed transaction was at log time (.+)/g

/**
 * Outgoing calls that wait in the backup may have been sent since: `rowhouse.claim_calls` puts them aside when it finds
 * itself in another database than before.
 */
const forgetSender = `do $$ begin
  if to_regclass('rowhouse.call_sender') is not null then update rowhouse.call_sender set database = 'a backup'; end if;
end $$`

function describeTimeline(superuserPassword: string, port: number): Promise<Pick<Recovered, 'timeline' | 'position'>> {
  const { adminUri } = addressesOf({ superuserPassword, authenticatorPassword: '' }, port)
  return withClient(connectionConfig(adminUri, {}), async (client) => {
    await client.query(forgetSender)
    await client.query('checkpoint')
    const { rows } = await client.query<{ timeline: number; lsn: string }>(
      'select (select timeline_id from pg_control_checkpoint()) as timeline, pg_current_wal_flush_lsn()::text as lsn',
    )
    const position = parseLsn(rows[0]?.lsn ?? '')
    if (!rows[0] || position === undefined) throw new Error('the restored server did not describe itself')
    return { timeline: rows[0].timeline, position }
  })
}
