// Defines the command line: all commands and common options.
import { Command, CommanderError } from 'commander'
import { MigrationError } from '../migrations/migration-error.ts'
import { addAudit } from './audit-command.ts'
import { addBackup } from './backup-command.ts'
import { addCalls } from './calls-command.ts'
import { addCheck } from './check-command.ts'
import { addDashboard } from './dashboard-command.ts'
import { addConsole } from './console-command.ts'
import type { Dependencies } from './dependencies.ts'
import { addDoctor } from './doctor-command.ts'
import { addDump, addRestore } from './dump-command.ts'
import { addExplain } from './explain-command.ts'
import { addFunctions } from './functions-command.ts'
import { addHelp } from './help-command.ts'
import { addKeys } from './keys-command.ts'
import { addMigrate } from './migrate-command.ts'
import { addPsql, addUrl, separatePsqlArguments } from './psql-command.ts'
import { addSample } from './sample-command.ts'
import { addSchedules } from './schedules-command.ts'
import { addServe } from './serve-command.ts'
import { addStorage } from './storage-command.ts'
import { addTest } from './test-command.ts'
import { addTypes } from './types-command.ts'
import { addUpgrade } from './upgrade-command.ts'
import { addWebhook } from './webhook-command.ts'
import { addUsers } from './users-command.ts'
import { messageOf } from './error-message.ts'

const description = `Serves a PostgreSQL database to clients of Supabase and PostgREST: tables, sign-in, files, realtime, functions.

Without a command, it serves. All options of PostgREST are accepted, so that it is a drop-in replacement.`

/**
 * Runs the command of the arguments. Never throws.
 *
 * @param given the arguments, without the program itself
 * @returns the exit code: 0, 1 for a failure or findings, 2 for a failed check
 */
export async function runProgram(given: readonly string[], dependencies: Dependencies): Promise<number> {
  const args = separatePsqlArguments(given)
  let exitCode = 0
  const isJson = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined).includes('--json')
  // Output of commander, which prints help and errors itself.
  let printed = ''
  const keep = (text: string): void => void (printed += text)
  const program = createProgram(
    dependencies,
    isJson ? { writeOut: keep, writeErr: keep } : { writeOut: dependencies.print, writeErr: dependencies.printError },
    (code) => (exitCode = code),
  )
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed help, the version, or the error in the arguments.
      if (isJson) printAsJson(error, printed, dependencies)
      return error.exitCode
    }
    const message = messageOf(error)
    const place = error instanceof MigrationError ? { place: error.place } : {}
    dependencies.printError(isJson ? `${JSON.stringify({ error: message, ...place })}\n` : `${message}\n`)
    return exitCode || 1
  }
}

function printAsJson(
  { code, exitCode, message }: CommanderError,
  printed: string,
  { version, print, printError }: Dependencies,
): void {
  if (code === 'commander.version') print(`${JSON.stringify({ name: 'rowhouse', version })}\n`)
  else if (exitCode === 0) print(`${JSON.stringify({ help: printed })}\n`)
  else
    printError(`${JSON.stringify({ error: code === 'commander.help' ? printed : message.replace(/^error: /, '') })}\n`)
}

type Output = { readonly writeOut: (text: string) => void; readonly writeErr: (text: string) => void }

function createProgram(dependencies: Dependencies, output: Output, setExitCode: (code: number) => void): Command {
  const { version } = dependencies
  const program = new Command('rowhouse')
  program
    .description(description)
    .usage('[options] [command] [FILENAME]')
    .version(`rowhouse ${version}`, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help, or the help of a command')
    .option('--json', 'print results and errors as JSON')
    .configureHelp({
      showGlobalOptions: true,
      // The only option of the program that commands accept, too.
      visibleGlobalOptions: (command) =>
        (command.parent === null ? [] : program.options).filter(({ long }) => long === '--json'),
    })
    .configureOutput(output)
    .showHelpAfterError('(see rowhouse --help)')
    .exitOverride()
  addServe(program, dependencies, setExitCode)
  addMigrate(program, dependencies, setExitCode)
  addSample(program, dependencies)
  addKeys(program, dependencies)
  addUsers(program, dependencies)
  addStorage(program, dependencies)
  addConsole(program, dependencies)
  addCheck(program, dependencies, setExitCode)
  addTypes(program, dependencies, setExitCode)
  addDoctor(program, dependencies, setExitCode)
  addPsql(program, dependencies, setExitCode)
  addUrl(program, dependencies)
  addDump(program, dependencies)
  addRestore(program, dependencies)
  addBackup(program, dependencies)
  addUpgrade(program, dependencies)
  addAudit(program, dependencies, setExitCode)
  addWebhook(program, dependencies)
  addCalls(program, dependencies)
  addSchedules(program, dependencies, setExitCode)
  addExplain(program, dependencies, setExitCode)
  addTest(program, dependencies, setExitCode)
  addFunctions(program, dependencies, setExitCode)
  addDashboard(program, dependencies)
  addHelp(program, dependencies)
  return program
}
