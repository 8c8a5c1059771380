// `rowhouse check`: reports what the API exposes and flags risks.
import type { Command } from 'commander'
import { checkExposure } from '../operations/check.ts'
import { readExposure } from '../operations/exposure.ts'
import { describeMissing, missingTables } from '../operations/missing-tables.ts'
import { checkStorage, describeStorageFinding, readStorageExposure } from '../operations/storage-check.ts'
import type { Dependencies } from './dependencies.ts'
import { exposureTable } from './exposure-table.ts'
import { printable } from './text-table.ts'

type Options = { readonly json?: true; readonly config?: string }

/** Roles of Supabase's clients, checked if they exist. */
const wellKnown = ['anon', 'authenticated', 'service_role']

/** Exit code of a failed check, distinct from that of findings (1). */
const couldNotLook = 2

export function addCheck(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const { loadConfig, withDatabase, print } = dependencies
  program
    .command('check')
    .description('list what the API exposes to which role, and flag risks (exit code 1)')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config: file } = command.optsWithGlobals<Options>()
      try {
        const config = loadConfig(file)
        const roles = config.dbAnonRole === null ? wellKnown : [...wellKnown, config.dbAnonRole]
        const [exposed, missing, stored] = await withDatabase(
          config,
          { role: 'authenticator', creates: false },
          async ({ query }) =>
            [
              await readExposure(query, config.dbSchemas, roles),
              await missingTables(query, config.services),
              await readStorageExposure(query),
            ] as const,
        )
        const checked = checkExposure(exposed)
        const storage = stored ? checkStorage(stored) : []
        const findings = checked.reduce((sum, object) => sum + object.findings.length, missing.length + storage.length)
        if (json) {
          const more = { ...(missing.length > 0 ? { missing } : {}), ...(storage.length > 0 ? { storage } : {}) }
          print(`${JSON.stringify({ findings, exposed: checked, ...more })}\n`)
        } else {
          const lines = [...missing.map(describeMissing), ...storage.map(describeStorageFinding)]
          print(`${[exposureTable(checked), ...lines.map(printable)].join('\n')}\n`)
        }
        if (findings > 0) setExitCode(1)
      } catch (error) {
        setExitCode(couldNotLook)
        throw error
      }
    })
}
