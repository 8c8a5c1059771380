// What `serve` prints in development, once the server listens.
import { join, relative } from 'node:path'
import type { Config } from '../config/config.ts'
import { listensOnLoopback } from '../config/loopback.ts'
import { serviceSettings } from '../config/service-settings.ts'
import { withClient } from '../postgres/connection/client.ts'
import { developmentAccounts } from './command-line/development-accounts.ts'
import { keysFile } from '../running/development-keys-file.ts'
import { ensureDevelopmentKeys, withoutPassword } from './command-line/development-keys.ts'
import { createConsoleLink } from './console/console-session.ts'
import { quoted, welcome } from './command-line/welcome.ts'
import { toPoolConfig } from '../running/connection-setting.ts'
import { isConsoleOpen } from '../services/console/create-console.ts'
import type { Greeting, ServedDatabase } from '../running/serve-tools.ts'

/** Creates the development keys unless they exist, and prints them and the addresses of the server. */
export async function greet(
  { config, owner }: Pick<ServedDatabase, 'config' | 'owner'>,
  { url, isForPeople, hasSample }: Greeting,
): Promise<void> {
  const { keys, consoleLink } = await withClient(toPoolConfig(owner, {}), async (client) => ({
    keys: await ensureDevelopmentKeys(config.dataDir, developmentAccounts(client)),
    consoleLink: isConsoleOpen(config, listensOnLoopback(config))
      ? await createConsoleLink((text, values) => client.query(text, values), url, 'development')
      : undefined,
  }))
  const text = isForPeople
    ? welcome({
        url,
        restPath: config.restBasePath,
        services: config.services,
        keys,
        databaseUri: owner,
        keysFile: join(config.dataDir, keysFile),
        runs: ownCommand(config),
        hasSample,
        consoleLink,
        hasMailbox: config.authSmtpHost === null && listensOnLoopback(config),
      })
    : JSON.stringify({ url, restBasePath: config.restBasePath, ...withoutPassword(keys), console: consoleLink })
  process.stdout.write(`${text}\n`)
}

const word = (text: string): string => (/^[\w./-]+$/.test(text) ? text : quoted(text))

/** How a command of this program is run from the current folder, on the same database. */
function ownCommand({ dataDir }: Pick<Config, 'dataDir'>): (command: string) => string {
  const folder = dataDir === serviceSettings.dataDir.default ? '' : `DATA_DIR=${word(dataDir)} `
  const [, program = ''] = process.argv
  return (command) => `${folder}node ${word(relative('.', program))} ${command}`
}
