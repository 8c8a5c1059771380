// `rowhouse console`: prints a link that opens the console.
import { InvalidArgumentError, type Command } from 'commander'
import { chooseDatabase } from '../../config/database-choice.ts'
import { createConsoleLink } from '../console/console-session.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { noticeTo } from './notice.ts'

type Options = { readonly url?: string; readonly json?: true; readonly config?: string }

export function addConsole(program: Command, dependencies: Dependencies): void {
  const { loadConfig, print, printError, withDatabase } = dependencies
  program
    .command('console')
    .description('print a link that opens the console in a browser, once and within an hour')
    .option('--url <url>', 'address of the running service', readUrl)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { url, json, config: file } = command.optsWithGlobals<Options>()
      const config = loadConfig(file)
      const address = url ?? `http://127.0.0.1:${config.serverPort}`
      const link = await withDatabase(config, { role: 'owner', creates: false }, async ({ query }) => {
        const { rows } = await query("select to_regclass('rowhouse.console_sessions') is not null as migrated")
        if (rows[0]?.migrated !== true) {
          throw new CommandError(
            'This database has no table for sessions of the console yet. Run `rowhouse migrate` first.',
          )
        }
        return createConsoleLink(query, address, 'a printed link')
      })
      if (config.console !== 'on' && chooseDatabase(config, 'owner').kind === 'named') {
        noticeTo(printError, json === true)('The console is closed unless the server has been started with CONSOLE=on.')
      }
      print(json ? `${JSON.stringify({ url: link })}\n` : `${link}\n`)
    })
}

function readUrl(text: string): string {
  if (!/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) {
    throw new InvalidArgumentError('Allowed are http and https URLs, such as https://api.example.com.')
  }
  return text.replace(/\/+$/, '')
}
