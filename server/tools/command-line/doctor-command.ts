// `rowhouse doctor`: looks at a running installation, and says what to do.
import { InvalidArgumentError, type Command } from 'commander'
import type { Dependencies } from './dependencies.ts'
import { failOnFindings } from './failing-on-findings.ts'
import type { DoctorCommandOptions } from './doctor-report.ts'

const mostProcesses = 1000

export function addDoctor(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  program
    .command('doctor')
    .description(
      'look at a running installation: settings, versions, clocks, TLS, poolers, connections, slow policies, bloat (exit code 1 if something must be done)',
    )
    .option('--url <url>', 'address of the running service, as its clients use it', readUrl)
    .option('--processes <number>', 'how many servers with these settings use the database', readProcesses, 1)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { reportDoctor } = await import('./doctor-report.ts')
      await failOnFindings(setExitCode, () =>
        reportDoctor(command.optsWithGlobals<DoctorCommandOptions>(), dependencies),
      )
    })
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new InvalidArgumentError('Allowed are http and https URLs, such as https://api.example.com.')
  }
  return url
}

function readProcesses(text: string): number {
  const number = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : NaN
  if (!(number <= mostProcesses)) throw new InvalidArgumentError(`Allowed are numbers from 1 to ${mostProcesses}.`)
  return number
}
