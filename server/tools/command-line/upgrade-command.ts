// `rowhouse upgrade-database`: the embedded database after an update to a newer PostgreSQL.
import type { Command } from 'commander'
import { requireEmbedded } from './backup-command.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { noticeTo } from './notice.ts'

type Options = { readonly json?: true; readonly config?: string; readonly oldBinaries?: string }

export function addUpgrade(program: Command, dependencies: Dependencies): void {
  program
    .command('upgrade-database')
    .description('move the embedded database to the PostgreSQL that is installed now')
    .option('--old-binaries <folder>', 'PostgreSQL that created it, with bin/postgres; otherwise npm installs it')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config: configFile, oldBinaries } = command.optsWithGlobals<Options>()
      const { loadConfig, hasDatabase, print, printError, env } = dependencies
      const config = loadConfig(configFile)
      requireEmbedded(config, 'rowhouse upgrade-database')
      if (!(await hasDatabase(config))) throw new CommandError(`There is no embedded database in ${config.dataDir}.`)
      const { upgradeDatabase } = await import('../backups/upgrade-database.ts')
      const log = noticeTo(printError, json === true)
      const upgraded = await upgradeDatabase(config, { oldBinaries, env, log })
      if (json) return print(`${JSON.stringify({ upgraded })}\n`)
      if (upgraded === null) return print('The database has the installed version already.\n')
      const { from, to, tables, rows, aside } = upgraded
      print(
        `Moved ${rows} rows of ${tables} tables from PostgreSQL ${from} to PostgreSQL ${to}.\n` +
          `The old database is in ${aside}; remove it when you no longer need it.\n`,
      )
      if (config.backupDir !== null) {
        print(`The backups in ${config.backupDir} are of PostgreSQL ${from}: set BACKUP_DIR to a new folder.\n`)
      }
    })
}
