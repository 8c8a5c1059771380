// `rowhouse test`: policy tests on a database that is thrown away.
import { InvalidArgumentError, Option, type Command } from 'commander'
import { readSchemaNames } from './schema-names.ts'
import type { Dependencies } from './dependencies.ts'
import type { TestOptions } from './test-run.ts'

/** Exit code when the tests could not run, distinct from that of tests that fail (1). */
const couldNotRun = 2

export function addTest(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('test')
    .description('run policy tests on a database that is thrown away')
    .option('--db-url <url>', 'server for that database; defaults to the embedded PostgreSQL')
    .option('--migrations <dir>', 'folder of migrations; defaults to migrations-dir')
    .option('--seed <file>', 'SQL file with rows; defaults to seed.sql beside the migrations')
    .option('--tests <dir>', 'folder of the tests; defaults to policy-tests beside the migrations')
    .option('--schema <names>', 'exposed schemas, separated by commas; defaults to db-schemas', readSchemaNames)
    .option('--filter <text>', 'only tests whose name contains this text')
    .addOption(
      new Option('--record', 'write who can do what into matrix.yaml, to review').conflicts(['coverage', 'mutate']),
    )
    .option('--coverage', 'also list policies, grants and checks that no test exercises (exit code 1)')
    .option('--mutate [text]', 'also weaken policies and grants, and list what no test notices (exit code 1)')
    .option('--jobs <number>', 'connections, each to its own copy of the database', readNumber, 2)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { runPolicyTests } = await import('./test-run.ts')
      try {
        if (!(await runPolicyTests(command.optsWithGlobals<TestOptions>(), dependencies))) setExitCode(1)
      } catch (error) {
        setExitCode(couldNotRun)
        throw error
      }
    })
}

function readNumber(text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1 || number > 64) throw new InvalidArgumentError('Allowed is 1 to 64.')
  return number
}
