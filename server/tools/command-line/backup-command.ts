// `rowhouse backup`, and `rowhouse restore --to`: backups of the embedded database.
import { InvalidArgumentError, type Command } from 'commander'
import { chooseDatabase } from '../../config/database-choice.ts'
import type { Config } from '../../config/config.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { noticeTo } from './notice.ts'
import { textRow } from './text-table.ts'

type Options = {
  readonly json?: true
  readonly config?: string
  readonly to?: string
  readonly keep?: number
  readonly list?: true
}

function parseKeep(given: string): number {
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= 1 && number <= 10_000) return number
  throw new InvalidArgumentError('It must be the number of backups to keep, from 1 to 10000.')
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`

export function addBackup(program: Command, dependencies: Dependencies): void {
  program
    .command('backup')
    .description('back up the embedded database and its files, whether the server runs or not')
    .option('--to <folder>', 'backup folder (setting BACKUP_DIR)')
    .option('--keep <number>', 'then remove all but the newest backups, and the log that only they need', parseKeep)
    .option('--list', 'list the backups instead')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config: configFile, to, keep, list } = command.optsWithGlobals<Options>()
      const { loadConfig, print, printError } = dependencies
      const config = loadConfig(configFile)
      requireEmbedded(config, 'rowhouse backup')
      const folder = to ?? config.backupDir
      if (folder === null) throw new CommandError('Name the folder of the backups: --to FOLDER, or set BACKUP_DIR.')
      if (list) {
        const { describeBackups } = await import('../backups/run-backup.ts')
        const described = await describeBackups(folder)
        return print(json ? `${JSON.stringify(asData(described))}\n` : asTable(folder, described))
      }
      if (!(await dependencies.hasDatabase(config))) {
        throw new CommandError(`There is no embedded database in ${config.dataDir}.`)
      }
      const { runBackup } = await import('../backups/run-backup.ts')
      const log = noticeTo(printError, json === true)
      const { backup, objects, removed } = await runBackup(config, { folder, keep, log })
      const { name, bytes, files, stoppedAt } = backup
      if (json) return print(`${JSON.stringify({ folder, name, stoppedAt, files, bytes, objects, removed })}\n`)
      const stored = objects === null ? '; the files of /storage/v1 are on S3' : ` and ${objects} stored files`
      print(`Wrote the backup ${name} to ${folder}: ${mebibytes(bytes)}${stored}.\n`)
      if (removed.backups > 0) {
        print(`Removed ${removed.backups} older backups and ${removed.segments} segments of the log.\n`)
      }
    })
}

type Described = Awaited<ReturnType<typeof import('../backups/run-backup.ts').describeBackups>>

const asData = ({ backups, until }: Described): object => ({
  backups: backups.map(({ name, stoppedAt, timeline, majorVersion, bytes }) => ({
    name,
    stoppedAt,
    timeline,
    majorVersion,
    bytes,
  })),
  archivedUntil: until,
})

function asTable(folder: string, { backups, until }: Described): string {
  if (backups.length === 0) return `There are no backups in ${folder}.\n`
  const rows = backups.map(({ name, stoppedAt, majorVersion, bytes }) => [
    name,
    stoppedAt.toISOString(),
    `PostgreSQL ${majorVersion}`,
    mebibytes(bytes),
  ])
  const archived = until
    ? `The log is archived until ${until.toISOString()}.`
    : 'There is no archive of the log: each backup can be restored, but no time between them.'
  const columns = [20, 24, 13, 12].map((width) => ({ title: '', width }))
  const lines = [['backup', 'state of', 'version', 'size'], ...rows].flatMap((cells) => textRow(columns, cells))
  return `${lines.join('\n')}\n\n${archived}\n`
}

/** @throws CommandError with a database of one's own */
export function requireEmbedded(config: Config, command: string): void {
  if (chooseDatabase(config, 'owner').kind === 'embedded') return
  throw new CommandError(
    `\`${command}\` is for the embedded database, but a database is configured. Use the tools of PostgreSQL, or \`rowhouse dump\`.`,
  )
}

/** Restores the embedded database to a time. */
export async function restoreToTime(
  {
    to,
    from,
    json,
    config: configFile,
  }: Pick<Options, 'json' | 'config'> & { readonly to: string; readonly from?: string },
  { loadConfig, print, printError }: Dependencies,
): Promise<void> {
  const config = loadConfig(configFile)
  requireEmbedded(config, 'rowhouse restore --to')
  const folder = from ?? config.backupDir
  if (folder === null) throw new CommandError('Name the folder of the backups: --from FOLDER, or set BACKUP_DIR.')
  const { runRestore } = await import('../backups/run-restore.ts')
  const log = noticeTo(printError, json === true)
  const restored = await runRestore(config, { folder, to, log })
  if (json) return print(`${JSON.stringify(restored)}\n`)
  const { backup, lastTransaction, aside, objects } = restored
  print(
    `Restored the backup ${backup}` +
      `${lastTransaction === null ? '' : `, and the log up to the transaction of ${lastTransaction}`}.\n`,
  )
  if (objects > 0) print(`Restored ${objects} stored files that were missing.\n`)
  if (aside !== null) print(`What was there before is in ${aside}; remove it when you no longer need it.\n`)
}
