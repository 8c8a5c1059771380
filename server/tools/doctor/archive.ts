// The backups of the embedded database: whether its write-ahead log is archived, and a restore is possible.
import { resolve } from 'node:path'
import { archiveAge, usualAge } from '../../postgres/backup/archive-status.ts'
import { slotName } from '../../postgres/backup/backup-slot.ts'
import { listBackups } from '../../postgres/backup/base-backup.ts'
import { readArchive } from '../../postgres/backup/wal-archive.ts'
import type { Config } from '../../config/config.ts'
import { listensOnLoopback } from '../../config/loopback.ts'
import type { DatabaseFacts } from './facts.ts'
import { bytes, type DoctorFinding } from './finding.ts'

/** What is in the backup folder. */
export type ArchiveFacts = {
  readonly folder: string
  /** Everything that was committed before is archived. Milliseconds since 1970; null if that is not known. */
  readonly until: number | null
  /** Complete base backups. */
  readonly backups: number
  /** Why the folder cannot be read. */
  readonly problem?: string
}

/** Bytes that the archive may lack while the database writes much. */
const usualBytes = 256 * 1024 ** 2

/** @param backupDir setting; undefined if there is no archive */
export async function readArchiveFacts(backupDir: string | null): Promise<ArchiveFacts | undefined> {
  if (backupDir === null) return undefined
  const folder = resolve(backupDir)
  try {
    const archive = await readArchive(folder)
    const backups = await listBackups(folder)
    const until = archive?.timelines.at(-1)?.until?.getTime() ?? null
    return { folder, until, backups: backups.length }
  } catch (error) {
    return { folder, until: null, backups: 0, problem: error instanceof Error ? error.message : String(error) }
  }
}

type Settings = Pick<Config, 'backupDir' | 'serverHost' | 'serverUnixSocket'>

/**
 * @param isServed whether the database runs for a server, which should archive; not if the doctor has started it
 * @param now milliseconds since 1970
 */
export function archiveFindings(
  archive: ArchiveFacts | undefined,
  { slots }: Pick<DatabaseFacts, 'slots'>,
  config: Settings,
  isServed: boolean,
  now: number,
): DoctorFinding[] {
  if (!archive) return [notArchived(config)]
  const { folder: subject, until, backups, problem } = archive
  const common = { area: 'backup', subject } as const
  if (problem !== undefined) {
    return [
      {
        ...common,
        code: 'backups_unreadable',
        level: 'ERROR',
        what: `The backup folder cannot be read: ${problem}`,
        why: 'A restore would fail.',
        advice:
          'Is the disk mounted, and may this user read it? If a backup is damaged, remove it, and run rowhouse backup.',
      },
    ]
  }
  const slot = slots.find(({ name }) => name === slotName)
  const kept = slot ? `; the database keeps ${bytes(slot.retained)} of the log for it` : ''
  const since = until === null ? '' : ` since ${new Date(until).toISOString()}`
  const findings: DoctorFinding[] = []
  if (isServed && slot?.isActive !== true) {
    findings.push({
      ...common,
      code: 'archive_stopped',
      level: 'ERROR',
      what: `Nothing is archived${since}${kept}.`,
      why: 'If the disk of the database is lost, so is everything since then. Until the archive has it, the log grows on the disk of DATA_DIR.',
      advice:
        'The log of the server says why (event wal-archive): the disk is full, not mounted, or not writable. The archive goes on by itself after that.',
    })
  } else if (
    isServed &&
    slot &&
    (archiveAge({ until, startedAt: now }, now) > usualAge || slot.retained > usualBytes)
  ) {
    findings.push({
      ...common,
      code: 'archive_behind',
      level: 'WARN',
      what: `The archive is behind${since}${kept}.`,
      why: 'If the disk of the database is lost, so is everything that is not archived.',
      advice: 'The disk or the network of the backup folder is slower than the database writes. Look at its load.',
    })
  }
  if (backups === 0) {
    findings.push({
      ...common,
      code: 'no_base_backup',
      level: 'ERROR',
      what: 'There is no base backup.',
      why: 'The archive of the log is of no use without one.',
      advice: 'Run `rowhouse backup`, and again once a day.',
    })
  }
  return findings
}

const notArchived = (config: Settings): DoctorFinding => ({
  area: 'backup',
  code: 'not_archived',
  subject: 'BACKUP_DIR',
  level: listensOnLoopback(config) ? 'INFO' : 'WARN',
  what: 'It is not set: there are only the backups that are made by hand.',
  why: 'If the disk of the database is lost, so is everything since the last of them.',
  advice: 'Set it to a folder on another disk, and run `rowhouse backup` once a day.',
})
