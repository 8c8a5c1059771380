// `/console/api/schedules`: jobs, their runs, and running one at once.
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { PathParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import { missingService, requireService } from './required-service.ts'
import { listJobs, listRuns } from './schedule-list.ts'
import type { RunsQuery } from './schedule-protocol.ts'

export function scheduleRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { database, snapshot, record } = parts
  const shared = { tag: 'console', access, errors: { 404: missingService } } as const
  return [
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/schedules',
      id: 'consoleSchedules',
      summary: 'Jobs with their next due time and their last run',
      success: success(200, 'The jobs.', { type: 'object' }),
      handler: async () => {
        requireService(parts, 'schedules')
        return { details: await listJobs(database.query, snapshot().config.schedulesTimezone) }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/schedules/runs',
      id: 'consoleScheduleRuns',
      summary: 'Runs of jobs, the latest first',
      query: {
        schema: dto<RunsQuery>('ConsoleRunsQuery'),
        parameters: { job: 'Number of a job.', before: 'Number of a run: earlier ones are returned.' },
        required: false,
        numeric: [],
      },
      success: success(200, 'A page of runs.', { type: 'object' }),
      handler: async ({ query }) => {
        requireService(parts, 'schedules')
        return { details: await listRuns(database.query, query) }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/schedules/{job}/run',
      id: 'consoleRunJob',
      summary: 'Run a job at once',
      pathParameters: { job: jobParameter },
      success: done('The job is run as soon as its run in progress has ended.'),
      errors: { ...shared.errors, 422: failure('The job cannot be run. The message says why.') },
      handler: async ({ caller, path: { job } }) => {
        requireService(parts, 'schedules')
        await database.query('select rowhouse.request_run($1)', [job]).catch((error: unknown) => {
          throw refusalOf(error, job)
        })
        await record(caller, 'run job', { job })
        return { message: 'The job is run' }
      },
    }),
  ]
}

const jobParameter: PathParameter<string> = {
  description: 'Number of the job.',
  schema: { type: 'string', pattern: String.raw`^\d{1,18}$` },
  read: (given) => {
    if (!/^\d{1,18}$/.test(given)) throw new Failure(404, 'There is no such job')
    return given
  },
}

/** SQLSTATEs with which `rowhouse.request_run` refuses: the extension runs the jobs; the job is not active. */
const refusals: ReadonlySet<string | undefined> = new Set(['0A000', '55000'])
const noSuchJob = 'P0002'

function refusalOf(error: unknown, job: string): unknown {
  const state = sqlState(error)
  if (state === noSuchJob) return new Failure(404, `There is no job ${job}`, { cause: error })
  return refusals.has(state) && error instanceof Error ? new Failure(422, error.message, { cause: error }) : error
}
