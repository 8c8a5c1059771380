// `rowhouse check`: reports what the API exposes, and what is wrong with schema and policies.
import { InvalidArgumentError, type Command } from 'commander'
import { defaultIgnoreFile, levels, type Level } from '../findings.ts'
import type { CheckOptions } from './check-report.ts'
import type { Dependencies } from './dependencies.ts'
import { failOnFindings } from './failing-on-findings.ts'

/** Exit code when `--fix` left statements out, because they failed or `--yes` was not given. */
const fixesLeftOut = 3

export function addCheck(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('check')
    .description(
      'find what is wrong with schema and policies (exit code 1), and list what the API exposes to which role',
    )
    .option('--level <level>', 'report findings from this level: info, warn or error', readLevel, 'INFO')
    .option('--fail-on <level>', 'exit code 1 from this level: info, warn, error or never', readThreshold, 'WARN')
    .option('--ignore <file>', `JSON file with findings to ignore; defaults to ${defaultIgnoreFile} if it exists`)
    .option('--all', 'report also what splinter would report, with the reason why it is none')
    .option('--exposed', 'list what is exposed to which role, too')
    .option(
      '--fix',
      'write the statements that mend the findings as a migration, if they change nothing that roles may do',
    )
    .option('--yes', 'with --fix: write also what changes that (without: exit code 3 if something was left out)')
    .option('--migrations <folder>', 'folder for --fix (setting MIGRATIONS_DIR)')
    .option('--github', 'print annotations for GitHub Actions')
    .option('--no-measure', 'do not measure what missing indexes cost')
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { reportCheck } = await import('./check-report.ts')
      await failOnFindings(setExitCode, async () => {
        const outcome = await reportCheck(command.optsWithGlobals<CheckOptions>(), dependencies)
        if (outcome === 'incomplete') setExitCode(fixesLeftOut)
        return outcome === 'findings'
      })
    })
}

function readLevel(text: string): Level {
  const level = levels.find((it) => it === text.toUpperCase())
  if (level === undefined) throw new InvalidArgumentError('Allowed are info, warn and error.')
  return level
}

function readThreshold(text: string): Level | 'NEVER' {
  if (text.toLowerCase() === 'never') return 'NEVER'
  const level = levels.find((it) => it === text.toUpperCase())
  if (level === undefined) throw new InvalidArgumentError('Allowed are info, warn, error and never.')
  return level
}
