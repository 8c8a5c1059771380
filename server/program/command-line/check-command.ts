// `rowhouse check`: looks over what is exposed, before somebody else does.
import type { Command } from 'commander'
import { checkExposure } from '../operations/check.ts'
import { readExposure } from '../operations/exposure.ts'
import type { Dependencies } from './dependencies.ts'
import { exposureTable } from './exposure-table.ts'

type Options = { readonly json?: true; readonly config?: string }

/** Roles that Supabase's clients know; looked at where they exist, whoever may switch to them. */
const wellKnown = ['anon', 'authenticated', 'service_role']

/** So that a script can tell "flagged" (1) from "could not look". */
const couldNotLook = 2

export function addCheck(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const { loadConfig, withDatabase, print } = dependencies
  program
    .command('check')
    .description('list what is exposed to whom, and flag what should not be; exit code 1 when something is flagged')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config: file } = command.optsWithGlobals<Options>()
      try {
        const config = loadConfig(file)
        const roles = config.dbAnonRole === null ? wellKnown : [...wellKnown, config.dbAnonRole]
        const exposed = await withDatabase(config, { role: 'authenticator', creates: false }, ({ query }) =>
          readExposure(query, config.dbSchemas, roles),
        )
        const checked = checkExposure(exposed)
        const findings = checked.reduce((sum, object) => sum + object.findings.length, 0)
        print(json ? `${JSON.stringify({ findings, exposed: checked })}\n` : `${exposureTable(checked)}\n`)
        if (findings > 0) setExitCode(1)
      } catch (error) {
        setExitCode(couldNotLook)
        throw error
      }
    })
}
