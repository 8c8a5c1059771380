// `rowhouse dump` and `rowhouse restore`: the whole database as a file of SQL.
import { Option, type Command } from 'commander'
import type { DumpCounts, RunPgDump } from '../database-access/dump.ts'
import type { DatabaseAddress } from './database-address.ts'
import { restoreToTime } from './backup-command.ts'
import { CommandError } from './command-error.ts'
import { noticeTo } from './notice.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'

type DumpOptions = { readonly json?: true; readonly config?: string }
type RestoreOptions = DumpOptions & { readonly replace?: true; readonly to?: string; readonly from?: string }

const reading: ConnectionWish = { role: 'owner', creates: false }
const restoring: ConnectionWish = { role: 'owner', creates: true }

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

export function addDump(program: Command, dependencies: Dependencies): void {
  program
    .command('dump')
    .description('write the whole database to a file of SQL, or to standard output')
    .argument('[file]', 'name of the file, which is replaced; compressed if it ends with .gz')
    .option('-c, --config <file>', 'configuration file')
    .action(async (file: string | undefined, _own: unknown, command: Command) => {
      const { json, config: configFile } = command.optsWithGlobals<DumpOptions>()
      const { loadConfig, withAddress, print, output } = dependencies
      if (json && file === undefined) throw new CommandError('--json needs a file: rowhouse dump --json dump.sql')
      const { counts, version } = await withAddress(loadConfig(configFile), reading, (address) =>
        dumpFrom(address, dependencies, file ?? output),
      )
      if (file === undefined) return
      const { tables, rows } = counts
      print(
        json
          ? `${JSON.stringify({ file, tables, rows, version })}\n`
          : `Wrote ${counted(rows, 'row')} of ${counted(tables, 'table')} to ${file}.\n`,
      )
    })
}

type Dumped = { readonly counts: DumpCounts; readonly version: string }

async function dumpFrom(
  address: DatabaseAddress,
  { connectTo, env }: Pick<Dependencies, 'connectTo' | 'env'>,
  target: string | Dependencies['output'],
): Promise<Dumped> {
  const { dumpDatabase } = await import('../database-access/dump.ts')
  const { writeWhole } = await import('../database-access/dump-file.ts')
  const { pgDumpFor } = await import('../database-access/pg-dump.ts')
  return connectTo(address, async (client) => {
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version")
    const { version = '' } = rows[0] ?? {}
    const pgDump: RunPgDump = await pgDumpFor(version, address, (use) => connectTo(address, use), env)
    const counts =
      typeof target === 'string'
        ? await writeWhole(target, (output) => dumpDatabase(client, output, pgDump))
        : await dumpDatabase(client, target, pgDump)
    return { counts, version }
  })
}

export function addRestore(program: Command, dependencies: Dependencies): void {
  program
    .command('restore')
    .description(
      'restore a file of `rowhouse dump`, or of pg_dump in SQL, into an empty database; or the embedded database from its backups',
    )
    .argument('[file]', 'name of the file')
    .option('--replace', 'drop everything in the database first')
    .addOption(
      new Option('--to <time>', 'restore the embedded database to a time with its zone, or `latest`').conflicts(
        'replace',
      ),
    )
    .option('--from <folder>', 'backup folder for --to (setting BACKUP_DIR)')
    .option('-c, --config <file>', 'configuration file')
    .action(async (file: string | undefined, _own: unknown, command: Command) => {
      const options = command.optsWithGlobals<RestoreOptions>()
      const { json, replace = false, config: configFile, to, from } = options
      if (to !== undefined && file === undefined) return restoreToTime({ ...options, to }, dependencies)
      if (to !== undefined)
        throw new CommandError(`--to restores from backups, not from the file ${file}. Leave out one of them.`)
      if (from !== undefined) throw new CommandError('--from needs a time: --to TIME, or --to latest.')
      if (file === undefined) {
        throw new CommandError(
          'Name the file of a dump, or a time for the embedded database: --to TIME, or --to latest.',
        )
      }
      const { loadConfig, withAddress, connectTo, print, printError } = dependencies
      const { inputFrom } = await import('../database-access/dump-file.ts')
      const { restoreDatabase } = await import('../database-access/restore.ts')
      const config = loadConfig(configFile)
      // Before a database is created for a file that does not exist.
      const input = await inputFrom(file)
      const counts = await withAddress(config, restoring, (address) =>
        connectTo(address, (client) =>
          restoreDatabase(client, { input, file, replace, onNotice: noticeTo(printError, json === true) }),
        ),
      )
      print(
        json
          ? `${JSON.stringify({ file, ...counts })}\n`
          : `Restored ${file}: ${counted(counts.statements, 'statement')}, ${counted(counts.rows, 'row')}.\n`,
      )
    })
}
