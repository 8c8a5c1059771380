// The runs of a job, or of all.
import type { ScheduleJob, ScheduleRun } from '../../../services/console/schedule-protocol.ts'
import { usePages } from '../../paging.ts'
import { Button, Empty, Loading, Problem, Table } from '../../parts.tsx'
import { go, href, useRoute } from '../../router.ts'
import { durationText, Time } from '../../values.tsx'
import { titleOf } from './job-title.ts'
import { RunStatus } from './run-status.tsx'

export function Runs({ jobs }: { readonly jobs: readonly ScheduleJob[] }) {
  const job = useRoute().query.get('job') ?? ''
  const filter = new URLSearchParams(job === '' ? {} : { job })
  const { items, hasMore, error, isLoading, reload, more } = usePages<ScheduleRun>('schedules/runs', filter, [])
  const isListed = job === '' || jobs.some((it) => it.job === job)
  return (
    <>
      <div class="bar">
        <select
          aria-label="Job"
          value={job}
          onChange={({ currentTarget: { value } }) =>
            go(['schedules', 'runs'], value === '' ? {} : { job: value }, { replace: true })
          }
        >
          <option value="">Job: all</option>
          {jobs.map((it) => (
            <option key={it.job} value={it.job}>
              {titleOf(it)}
            </option>
          ))}
          {!isListed && <option value={job}>job {job}</option>}
        </select>
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
      </div>
      <Problem error={error} />
      {!items && error === undefined && <Loading />}
      {items?.length === 0 && (
        <Empty title="No runs yet">
          <p>Each run of a job is recorded here, with its duration, its rows and its error.</p>
        </Empty>
      )}
      {items && items.length > 0 && (
        <Table class="job-runs" head={['Began', 'Job', 'Status', 'Duration', 'Rows', 'Message']}>
          {items.map((run) => (
            <tr key={run.run}>
              <td>{run.startedAt === null ? <span class="faint">not yet</span> : <Time at={run.startedAt} />}</td>
              <td>
                <a href={href(['schedules', 'runs'], { job: run.job })}>{titleOf(run)}</a>
                <br />
                <code class="small command" title={run.command}>
                  {run.command.trim().slice(0, 200)}
                </code>
              </td>
              <td>
                <RunStatus status={run.status} />
              </td>
              <td>{run.milliseconds === null ? '' : durationText(run.milliseconds)}</td>
              <td>{run.rows ?? ''}</td>
              <td class="outcome">{run.message}</td>
            </tr>
          ))}
        </Table>
      )}
      {hasMore && (
        <Button isBusy={isLoading} onClick={more}>
          Earlier runs
        </Button>
      )}
    </>
  )
}
