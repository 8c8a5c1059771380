// What the console shows of the command line: the same functions.
import { join } from 'node:path'
import { keysFile, readDevelopmentKeys } from '../command-line/development-keys.ts'
import type { ConsoleTools } from '../../services/console/console-tools.ts'

export const consoleTools: ConsoleTools = {
  developmentKeys: async (dataDir) => {
    const keys = await readDevelopmentKeys(join(dataDir, keysFile))
    return keys && { publishable: keys.publishableKey, secret: keys.secretKey, user: keys.user.key }
  },
  countPolicyTests: () => Promise.resolve(0),
}
