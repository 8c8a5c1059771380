// `rowhouse` and `rowhouse serve`, with PostgREST's options that print something instead of serving.
import { existsSync } from 'node:fs'
import { Option, type Command } from 'commander'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { askReady } from './ready.ts'

type Options = {
  readonly json?: true
  readonly example?: true
  readonly dumpConfig?: true
  readonly dumpSchema?: true
  readonly ready?: true
  readonly sample?: true
  readonly migrations?: string
  readonly schemas?: string
  readonly watch?: true
}

export function addServe(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .addOption(new Option('-e, --example', 'print an example configuration file'))
    .addOption(new Option('--dump-config', 'print the effective settings').conflicts(['dumpSchema', 'ready']))
    .addOption(
      new Option('--dump-schema', 'print the schema cache as JSON; its structure may change').conflicts('ready'),
    )
    .addOption(new Option('--ready', 'check whether the running server is ready'))
  const names = (): string[] => program.commands.map((command) => command.name())
  program
    .command('serve', { isDefault: true })
    .description('serve all of it (the default command)')
    .argument('[FILENAME]', "configuration file in PostgREST's format")
    .option('--sample', 'add sample data to a database without reports and runs')
    .option('--migrations <folder>', 'folder of your own migrations (setting MIGRATIONS_DIR)')
    .option('--schemas <folder>', 'folder of JSON Schemas of your own (setting SCHEMAS_DIR)')
    .option('--watch', 'in development: apply your own migrations whenever they are saved')
    .action(async (file: string | undefined, _own: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>()
      const json = options.json === true
      if (options.example) return dependencies.print(dependencies.exampleConfig(json))
      if (file !== undefined && !existsSync(file)) throw new CommandError(noSuchFile(file, names()))
      if (options.dumpConfig) {
        return dependencies.print(dependencies.dumpConfig(await dependencies.withDatabaseSettings(file), json))
      }
      if (options.dumpSchema) {
        return dependencies.print(`${await dependencies.dumpSchema(await dependencies.withDatabaseSettings(file))}\n`)
      }
      if (options.ready) {
        return setExitCode(await askReady(dependencies.loadConfig(file), json, dependencies))
      }
      return dependencies.serve({
        ...(file === undefined ? {} : { configFile: file }),
        ...(options.json ? { json: true } : {}),
        ...(options.sample ? { sample: true } : {}),
        ...(options.migrations === undefined ? {} : { migrations: options.migrations }),
        ...(options.schemas === undefined ? {} : { schemas: options.schemas }),
        ...(options.watch ? { watch: true } : {}),
      })
    })
}

/** The default command reads any first word as a file name, but most often it is a mistyped command. */
function noSuchFile(file: string, commands: readonly string[]): string {
  const looksLikeCommand = /^[a-z-]+$/.test(file)
  return looksLikeCommand
    ? `There is no command and no configuration file named "${file}". The commands are ${commands.join(', ')}.`
    : `There is no configuration file "${file}".`
}
