// `rowhouse types`: TypeScript types of the database, for the clients of Supabase.
import { Option, type Command } from 'commander'
import type { Catalogue } from '../types/catalogue.ts'
import { readSchemaNames } from './schema-names.ts'
import { CommandError } from './command-error.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'
import { couldNotLook } from './failing-on-findings.ts'
import { messageOf } from './error-message.ts'
import { printable } from './text-table.ts'

type Options = {
  readonly dbUrl?: string
  readonly schema?: readonly string[]
  readonly output?: string
  readonly watch?: true
  readonly check?: string
  readonly json?: true
  readonly config?: string
}

const reading: ConnectionWish = { role: 'authenticator', creates: false }

/** While the command watches, `serve` can be stopped and started with the embedded database. */
const watching: ConnectionWish = { ...reading, starts: false }

export function addTypes(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('types')
    .description('print the TypeScript types of the database that supabase-js expects')
    .option('--db-url <url>', 'connection string; defaults to the database that is served')
    .option('--schema <names>', 'schemas, separated by commas; defaults to the exposed ones', readSchemaNames)
    .addOption(new Option('--output <file>', 'write the types to a file').conflicts('check'))
    .addOption(new Option('--watch', 'with --output: write them again when the schema changes').conflicts('check'))
    .option('--check <file>', 'compare a file with the types: exit code 1 if it is out of date')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      if (options.watch && options.output === undefined) {
        throw new CommandError('--watch needs a file to write: rowhouse types --watch --output database.types.ts')
      }
      try {
        if (!(await run(options, dependencies))) setExitCode(1)
      } catch (error) {
        if (options.check !== undefined) setExitCode(couldNotLook)
        throw error
      }
    })
}

/** @returns false if the file to check is out of date */
async function run(options: Options, dependencies: Dependencies): Promise<boolean> {
  const { print, withDatabase, withDatabaseSettings, tableSchemas } = dependencies
  const { readCatalogue } = await import('../types/catalogue.ts')
  const { databaseTypes } = await import('../types/database-types.ts')
  const { compareTypes, writeTypes } = await import('../types/types-file.ts')
  const config = await withDatabaseSettings(options.config, options.dbUrl)
  const files = await tableSchemas(config)
  const scope = { schemas: options.schema ?? config.dbSchemas, extraSearchPath: config.dbExtraSearchPath }
  const connect: Connect = (use) =>
    withDatabase(config, options.watch ? watching : reading, ({ query }) => use(() => readCatalogue(query, scope)))
  const typesOf = (catalogue: Catalogue): string => databaseTypes(catalogue, files)
  const { output, check, json, watch } = options
  if (output !== undefined) {
    const write = async (catalogue: Catalogue): Promise<void> => {
      const written = await writeTypes(output, typesOf(catalogue))
      if (json) print(`${JSON.stringify({ file: output, written })}\n`)
      else print(written ? `Wrote ${output}.\n` : `${output} is up to date.\n`)
    }
    if (watch) await watchUntilInterrupted(connect, write, dependencies, json === true)
    else await write(await connect((read) => read()))
    return true
  }
  const types = typesOf(await connect((read) => read()))
  if (check !== undefined) return report(check, await compareTypes(check, types), json === true, dependencies)
  print(json ? `${JSON.stringify({ types })}\n` : types)
  return true
}

type Connect = <T>(use: (read: () => Promise<Catalogue>) => Promise<T>) => Promise<T>

async function watchUntilInterrupted(
  connect: Connect,
  onChange: (catalogue: Catalogue) => Promise<void>,
  { printError, watchTermination }: Dependencies,
  json: boolean,
): Promise<void> {
  const { watchCatalogue } = await import('../types/watch.ts')
  const { signal, dispose } = watchTermination()
  const onError = (error: unknown): void => {
    const notice = `${messageOf(error)}; trying again`
    printError(json ? `${JSON.stringify({ notice })}\n` : `${notice}\n`)
  }
  try {
    await watchCatalogue({ connect, onChange, onError, signal })
  } finally {
    dispose()
  }
}

function report(
  file: string,
  difference: readonly string[] | null,
  json: boolean,
  { print }: Pick<Dependencies, 'print'>,
): boolean {
  const upToDate = difference === null
  if (json) print(`${JSON.stringify({ file, upToDate, difference: difference ?? [] })}\n`)
  else if (upToDate) print(`${file} is up to date.\n`)
  else {
    const what = difference.length === 0 ? 'does not exist.' : 'is out of date:'
    const advice = `To write it: rowhouse types --output ${file}`
    print(`${[`${file} ${what}`, ...difference.map(printable), advice].join('\n')}\n`)
  }
  return upToDate
}
