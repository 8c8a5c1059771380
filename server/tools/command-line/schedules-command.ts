// `rowhouse schedules`: the jobs of `cron.job`, and their runs.
import { InvalidArgumentError, type Command } from 'commander'
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import type { ScheduleJob, ScheduleRun } from '../../services/console/schedule-protocol.ts'
import type { ConnectionWish, Dependencies } from './dependencies.ts'
import { printable, textTable } from './text-table.ts'

type Shared = { readonly json?: true; readonly config?: string }
type RunsOptions = Shared & { readonly failed?: true; readonly limit: number }

const owner: ConnectionWish = { role: 'owner', creates: false }

export function addSchedules(program: Command, dependencies: Dependencies, setExitCode: (code: number) => void): void {
  const { print } = dependencies
  const withSchedules = async <T>(
    file: string | undefined,
    use: (query: RunClientQuery, zone: string | null) => Promise<T>,
  ): Promise<T> => {
    const { requireSchedules } = await import('../schedules/schedules.ts')
    const config = dependencies.loadConfig(file)
    return dependencies.withDatabase(config, owner, async ({ query }) => {
      await requireSchedules(query)
      return use(query, config.schedulesTimezone)
    })
  }
  const schedules = program
    .command('schedules')
    .description('list the jobs that run at set times, with their next and last runs')
    .helpCommand(false)
    .option('-c, --config <file>', 'configuration file')
    .action(async (_own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { listSchedules } = await import('../schedules/schedules.ts')
      const found = await withSchedules(config, listSchedules)
      print(json ? `${JSON.stringify(found)}\n` : `${schedulesTable(found)}\n`)
    })
  schedules
    .command('runs')
    .description('list the runs of a job, or of all, the latest first')
    .argument('[job]', 'number or name of the job')
    .option('--failed', 'those that failed')
    .option('--limit <number>', 'the most runs', readLimit, 50)
    .action(async (job: string | undefined, _own: unknown, command: Command) => {
      const { json, config, failed, limit } = command.optsWithGlobals<RunsOptions>()
      const { findJob, latestRuns } = await import('../schedules/schedules.ts')
      const found = await withSchedules(config, async (query) =>
        latestRuns(
          query,
          job === undefined ? null : (await findJob(query, job)).job,
          limit,
          failed ? 'failed' : undefined,
        ),
      )
      print(json ? `${JSON.stringify(found)}\n` : `${runsTable(found)}\n`)
    })
  schedules
    .command('run')
    .description('make a server run a job at once, and wait for its end: exit code 1 if it fails')
    .argument('<job>', 'number or name of the job')
    .action(async (job: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const { findJob, runJob } = await import('../schedules/schedules.ts')
      const run = await withSchedules(config, async (query) => runJob(query, (await findJob(query, job)).job))
      if (run.status !== 'succeeded') setExitCode(1)
      print(
        json ? `${JSON.stringify(run)}\n` : `${run.status} after ${duration(run)}: ${printable(run.message ?? '')}\n`,
      )
    })
}

const second = (time: string | null | undefined): string =>
  time == null ? '' : new Date(time).toISOString().slice(0, 19).replace('T', ' ')

const duration = ({ milliseconds }: ScheduleRun): string =>
  milliseconds === null
    ? ''
    : milliseconds < 1000
      ? `${Math.round(milliseconds)} ms`
      : `${(milliseconds / 1000).toFixed(1)} s`

function schedulesTable(schedules: readonly ScheduleJob[]): string {
  if (schedules.length === 0)
    return "There are no jobs. To add one: select cron.schedule('nightly', '0 3 * * *', 'vacuum')"
  return textTable(
    [
      { title: 'JOB', width: 10 },
      { title: 'NAME', width: 30 },
      { title: 'SCHEDULE', width: 20 },
      { title: 'AS', width: 20 },
      { title: 'NEXT RUN (UTC)', width: 19 },
      { title: 'LAST RUN (UTC)', width: 19 },
      { title: 'RESULT', width: 50 },
    ],
    schedules.map((schedule) => [
      schedule.job,
      printable(schedule.name ?? ''),
      printable(schedule.schedule),
      printable(schedule.role),
      schedule.isActive ? (schedule.isWaiting ? 'now' : second(schedule.nextAt)) : 'not active',
      second(schedule.lastRun?.at),
      printable([schedule.lastRun?.status, schedule.lastRun?.message].filter((part) => part != null).join(': ')),
    ]),
  )
}

function runsTable(runs: readonly ScheduleRun[]): string {
  if (runs.length === 0) return 'There are no such runs.'
  return textTable(
    [
      { title: 'RUN', width: 12 },
      { title: 'JOB', width: 30 },
      { title: 'BEGAN (UTC)', width: 19 },
      { title: 'TOOK', width: 10 },
      { title: 'STATUS', width: 10 },
      { title: 'RESULT', width: 70 },
    ],
    runs.map((run) => [
      run.run,
      printable(run.name ?? run.job),
      second(run.startedAt),
      duration(run),
      run.status,
      printable(run.message ?? ''),
    ]),
  )
}

/** @throws InvalidArgumentError, which commander prints */
function readLimit(text: string): number {
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > 10_000) throw new InvalidArgumentError('Allowed are 1 to 10000.')
  return limit
}
