// The jobs: when they run, how their last run has ended, and changing them.
import { useState } from 'preact/hooks'
import type { ScheduleJob, ScheduleReport } from '../../../services/console/schedule-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Badge, Button, Dialog, Empty, Problem, Snippet, Table } from '../../parts.tsx'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { runAsOwner, Statement } from '../../sql-statement.tsx'
import { Time } from '../../values.tsx'
import { JobDialog } from './job-dialog.tsx'
import { activateJobSql, removeJobSql } from './job-sql.ts'
import { titleOf } from './job-title.ts'
import { RunStatus } from './run-status.tsx'

type Open =
  | { readonly kind: 'new' }
  | { readonly kind: 'change'; readonly job: ScheduleJob }
  | { readonly kind: 'activate'; readonly job: ScheduleJob }
  | { readonly kind: 'remove'; readonly job: ScheduleJob }

type JobsProps = { readonly report: ScheduleReport; readonly onChange: () => void }

export function Jobs({ report: { isOwn, zone, jobs }, onChange }: JobsProps) {
  const [open, setOpen] = useState<Open>()
  const { error, run } = useAction()
  const close = (): void => setOpen(undefined)
  const add = (
    <Button kind="primary" onClick={() => setOpen({ kind: 'new' })}>
      New job
    </Button>
  )
  const start = ({ job }: ScheduleJob): void =>
    run(async () => {
      await consoleApi(`schedules/${job}/run`, { method: 'POST' })
      onChange()
    })
  return (
    <>
      {jobs.length === 0 ? (
        <Empty title="No jobs yet">
          <p>A job is SQL that runs at set times, as the role that has scheduled it:</p>
          <Snippet
            text={
              "select cron.schedule('nightly', '30 3 * * *', $$delete from logs where at < now() - interval '7 days'$$)"
            }
          />
          {add}
        </Empty>
      ) : (
        <>
          <div class="bar">
            {add}
            {isOwn && (
              <span class="faint small">
                Times are those of {zone ?? 'cron.timezone of the database, or else GMT'}.
              </span>
            )}
          </div>
          <Problem error={error} />
          <Table class="jobs" head={['Job', 'When', 'As', 'Last run', 'Active', <span class="faint">Change</span>]}>
            {jobs.map((job) => (
              <JobRow key={job.job} job={job} isOwn={isOwn} onStart={start} onOpen={setOpen} onChange={onChange} />
            ))}
          </Table>
        </>
      )}
      {open?.kind === 'new' && <JobDialog hasMissed={isOwn} onChange={onChange} onClose={close} />}
      {open?.kind === 'change' && <JobDialog job={open.job} hasMissed={isOwn} onChange={onChange} onClose={close} />}
      {open?.kind === 'activate' && (
        <Dialog title={`${open.job.isActive ? 'Suspend' : 'Activate'} ${titleOf(open.job)}`} onClose={close}>
          <Statement
            sql={activateJobSql(open.job, !open.job.isActive)}
            suggestion={`${open.job.isActive ? 'suspend' : 'activate'} ${titleOf(open.job)}`}
            onRun={onChange}
            onClose={close}
          />
        </Dialog>
      )}
      {open?.kind === 'remove' && (
        <Dialog title={`Remove ${titleOf(open.job)}`} onClose={close}>
          <p>A run in progress is canceled. Its past runs are kept for some time.</p>
          <Statement
            sql={removeJobSql(open.job)}
            suggestion={`remove ${titleOf(open.job)}`}
            onRun={onChange}
            onClose={close}
          />
        </Dialog>
      )}
    </>
  )
}

type JobRowProps = {
  readonly job: ScheduleJob
  readonly isOwn: boolean
  readonly onStart: (job: ScheduleJob) => void
  readonly onOpen: (open: Open) => void
  readonly onChange: () => void
}

const JobRow = ({ job, isOwn, onStart, onOpen, onChange }: JobRowProps) => (
  <tr>
    <td>
      <a href={href(['schedules', 'runs'], { job: job.job })}>{titleOf(job)}</a>
      <br />
      <code class="small command" title={job.command}>
        {job.command.trim().slice(0, 200)}
      </code>
    </td>
    <td class="when">
      <code>{job.schedule}</code>
      <br />
      <span class="small faint">
        {job.isWaiting ? (
          'waits to be run'
        ) : job.nextAt === null ? (
          'not due'
        ) : (
          <>
            next <Time at={job.nextAt} />
          </>
        )}
        {job.skipped > 0 && `, ${job.skipped} skipped`}
        {job.missed === 'once' && ', missed ones once'}
      </span>
    </td>
    <td>{job.role}</td>
    <td class="outcome">
      {job.lastRun ? (
        <>
          <RunStatus status={job.lastRun.status} /> <Time at={job.lastRun.at} />
          <br />
          <span class="small" title={job.lastRun.message ?? ''}>
            {(job.lastRun.message ?? '').slice(0, 200)}
          </span>
        </>
      ) : (
        <span class="faint">never</span>
      )}
    </td>
    <td>
      <ActiveSwitch job={job} onOpen={onOpen} onChange={onChange} />
    </td>
    <td>
      <div class="bar">
        {isOwn && (
          <Button isDisabled={!job.isActive} onClick={() => onStart(job)} title={`Run ${titleOf(job)} now`}>
            Run now
          </Button>
        )}
        <Button onClick={() => onOpen({ kind: 'change', job })} title={`Change ${titleOf(job)}`}>
          Change
        </Button>
        <Button kind="danger" onClick={() => onOpen({ kind: 'remove', job })} title={`Remove ${titleOf(job)}`}>
          Remove
        </Button>
      </div>
    </td>
  </tr>
)

type ActiveSwitchProps = Pick<JobRowProps, 'job' | 'onOpen' | 'onChange'>

/** During development, it changes the job at once; elsewhere it shows the SQL. */
function ActiveSwitch({ job, onOpen, onChange }: ActiveSwitchProps) {
  const { isDevelopment } = useSession()
  const { error, isBusy, run } = useAction()
  return (
    <>
      <input
        type="checkbox"
        role="switch"
        aria-label={`${titleOf(job)} is active`}
        checked={job.isActive}
        disabled={isBusy}
        onClick={(event) => {
          // It shows what the database has.
          event.preventDefault()
          if (isDevelopment) run(() => runAsOwner(activateJobSql(job, !job.isActive)).then(onChange))
          else onOpen({ kind: 'activate', job })
        }}
      />
      {error !== undefined && <Badge kind="bad">{error instanceof Error ? error.message : 'refused'}</Badge>}
    </>
  )
}
