// `rowhouse migrate`: applies pending migrations.
import type { Command } from 'commander'
import { sqlState } from '../../postgres/database-error.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies, Migrated, DatabaseOperations } from './dependencies.ts'

type Options = { readonly dryRun?: true; readonly json?: true; readonly config?: string }

export function addMigrate(program: Command, dependencies: Dependencies): void {
  const { loadConfig, withDatabase, hasDatabase, allMigrations, print } = dependencies
  program
    .command('migrate')
    .description('apply pending migrations')
    .option('--dry-run', 'list the migrations without applying them')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { dryRun, json, config: file } = command.optsWithGlobals<Options>()
      const config = loadConfig(file)
      if (dryRun) {
        const ask = (): Promise<readonly string[]> =>
          withDatabase(config, { role: 'owner', creates: false }, (session) => session.pendingMigrations())
        const pending = (await hasDatabase(config)) ? await ask() : await allMigrations(config)
        return print(json ? `${JSON.stringify({ pending })}\n` : `${list('Would apply:', pending)}\n`)
      }
      const done = await withDatabase(config, { role: 'owner', creates: true }, (session) =>
        migrate(session, config.migrationDatabaseUrl !== null),
      )
      print(json ? `${JSON.stringify(done)}\n` : `${[list('Applied:', done.applied), ...done.notes].join('\n')}\n`)
    })
}

async function migrate(session: DatabaseOperations, hasOwnRole: boolean): Promise<Migrated> {
  try {
    return await session.migrate()
  } catch (error) {
    // insufficient_privilege
    if (hasOwnRole || sqlState(error) !== '42501') throw error
    throw new CommandError(
      `${(error as Error).message}\nSet MIGRATION_DATABASE_URL to a connection string of a role that may change the schema.`,
      { cause: error },
    )
  }
}

const list = (title: string, names: readonly string[]): string =>
  names.length === 0 ? 'The database is up to date.' : [title, ...names.map((name) => `  ${name}`)].join('\n')
