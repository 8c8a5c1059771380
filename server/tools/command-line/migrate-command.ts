// `rowhouse migrate`: applies pending migrations, those of the server and those of the project.
import { Option, type Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { createMigration } from '../migrations/new-migration.ts'
import { folderForNew } from '../../config/project.ts'
import type { ProjectStatus } from '../migrations/project-migrations.ts'
import type { WatchEvent } from '../migrations/watch.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies, Migrated, DatabaseOperations, MigrateOptions } from './dependencies.ts'
import { describeStatus, needsAttention } from './migration-status.ts'

type Options = {
  readonly dryRun?: true
  readonly seed?: true
  readonly includeAll?: true
  readonly accept?: string
  readonly watch?: true
  readonly migrations?: string
  readonly json?: true
  readonly config?: string
}

export function addMigrate(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const { print } = dependencies
  const migrate = program
    .command('migrate')
    .description('apply pending migrations: those of the server, then those of your own')
    .option('--dry-run', 'list the migrations without applying them')
    .option('--migrations <folder>', 'folder of your own migrations (setting MIGRATIONS_DIR)')
    .option('--seed', 'apply seed.sql beside that folder, if it was not applied or was changed')
    .option('--include-all', 'also apply files that are older than one that is applied')
    .addOption(
      new Option('--accept <name>', 'record a file as applied as it is, without running it').conflicts('dryRun'),
    )
    .addOption(
      new Option('--watch', 'in development: try each saved file in a new database, then apply it').conflicts([
        'dryRun',
        'accept',
      ]),
    )
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      const config = configOf(options, dependencies)
      if (options.dryRun) return print(await dryRun(options, config, dependencies))
      if (options.accept !== undefined) return print(await accept(options.accept, options, config, dependencies))
      if (options.watch) return watch(options, config, dependencies)
      print(await apply(options, config, dependencies))
    })
  migrate
    .command('status')
    .description('list your own migrations: exit code 1 if one was changed or is incomplete')
    .action(async (_own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      const status = await readStatus(configOf(options, dependencies), dependencies)
      print(options.json ? `${JSON.stringify(status)}\n` : `${describeStatus(status)}\n`)
      if (needsAttention(status)) setExitCode(1)
    })
  migrate
    .command('new')
    .argument('<name>', 'in words: create tasks')
    .description('create a file for a new migration')
    .action(async (name: string, _own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      const file = await createMigration(await folderForNew(configOf(options, dependencies)), name, '')
      print(options.json ? `${JSON.stringify({ file })}\n` : `Created ${file}.\n`)
    })
}

const configOf = ({ config: file, migrations }: Options, { loadConfig }: Dependencies): Config => {
  const config = loadConfig(file)
  return migrations === undefined ? config : { ...config, migrationsDir: migrations }
}

const optionsOf = ({ seed, includeAll }: Options): MigrateOptions => ({
  ...(seed ? { seed } : {}),
  ...(includeAll ? { includeAll } : {}),
})

async function dryRun(options: Options, config: Config, dependencies: Dependencies): Promise<string> {
  const { withDatabase, hasDatabase, allMigrations } = dependencies
  const ask = (): Promise<readonly string[]> =>
    withDatabase(config, { role: 'owner', creates: false }, (session) => session.pendingMigrations(optionsOf(options)))
  const pending = (await hasDatabase(config)) ? await ask() : await allMigrations(config)
  return options.json ? `${JSON.stringify({ pending })}\n` : `${list('Would apply:', pending)}\n`
}

async function apply(options: Options, config: Config, dependencies: Dependencies): Promise<string> {
  const { applied, notes } = await dependencies.withDatabase(config, { role: 'owner', creates: true }, (session) =>
    migrate(session, optionsOf(options), config.migrationDatabaseUrl !== null),
  )
  return options.json
    ? `${JSON.stringify({ applied, notes })}\n`
    : `${[list('Applied:', applied), ...notes].join('\n')}\n`
}

async function accept(name: string, options: Options, config: Config, dependencies: Dependencies): Promise<string> {
  const file = await dependencies.withDatabase(config, { role: 'owner', creates: false }, (session) =>
    session.acceptMigration(name),
  )
  return options.json ? `${JSON.stringify({ accepted: file })}\n` : `Recorded ${file} as applied, as it is now.\n`
}

/** Watches the folder until a signal. */
async function watch(
  options: Options,
  config: Config,
  { watchMigrations, watchTermination, print, printError }: Dependencies,
): Promise<void> {
  const { signal, dispose } = watchTermination()
  const report = ({ kind, message, place }: WatchEvent): void => {
    const text = options.json ? JSON.stringify({ [kind]: message, ...(place ? { place } : {}) }) : message
    if (kind === 'error') printError(`${text}\n`)
    else print(`${text}\n`)
  }
  try {
    await watchMigrations(config, { ...optionsOf(options), report, signal })
  } finally {
    dispose()
  }
}

const readStatus = (config: Config, { withDatabase }: Dependencies): Promise<ProjectStatus> =>
  withDatabase(config, { role: 'owner', creates: false }, (session) => session.migrationStatus())

async function migrate(session: DatabaseOperations, options: MigrateOptions, hasOwnRole: boolean): Promise<Migrated> {
  try {
    return await session.migrate(options)
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
