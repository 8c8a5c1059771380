// `rowhouse sample`: adds sample data.
import type { Command } from 'commander'
import { chooseDatabase } from '../../config/database-choice.ts'
import { CommandError } from './command-error.ts'
import { sampleTables } from './sample-data.ts'
import type { Dependencies, SampleCounts } from './dependencies.ts'

type Options = { readonly yes?: true; readonly user?: string; readonly json?: true; readonly config?: string }

export function addSample(program: Command, { loadConfig, withDatabase, print }: Dependencies): void {
  program
    .command('sample')
    .description('add sample data: approved reports, enough for an estimate, and classification runs')
    .option('--user <email>', 'account that owns the classification runs; defaults to the development user')
    .option('--yes', 'also add it to a database other than the embedded one')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { yes, user, json, config: file } = command.optsWithGlobals<Options>()
      const config = loadConfig(file)
      if (chooseDatabase(config, 'owner').kind === 'named' && yes !== true) {
        throw new CommandError(
          'This is not the embedded database for development. To add accounts and rows to it anyway: rowhouse sample --yes',
        )
      }
      const counts = await withDatabase(config, { role: 'owner', creates: false }, async ({ query, addSampleData }) => {
        const { rows } = await query(sampleTables)
        if (rows[0]?.are_there !== true) {
          throw new CommandError(
            'This database lacks tables of the services reports and analysis. Run `rowhouse migrate` with them first.',
          )
        }
        return addSampleData(user)
      })
      print(json ? `${JSON.stringify(counts)}\n` : `${summary(counts)}\n`)
    })
}

function summary({ accounts, reports, runs, hasOwner }: SampleCounts): string {
  const added =
    accounts + reports + runs === 0
      ? 'The sample data already exists.'
      : `Added ${accounts} accounts, ${reports} approved reports and ${runs} classification runs.`
  return hasOwner
    ? added
    : `${added}\nThere is no development user to own classification runs: choose an account with --user.`
}
