// A new job, or changes of one: as SQL, which the owner runs, or which becomes a migration.
import { useState } from 'preact/hooks'
import type { ScheduleJob } from '../../../services/console/schedule-protocol.ts'
import { Button, Dialog, Field, TextField } from '../../parts.tsx'
import { Statement } from '../../sql-statement.tsx'
import { changeJobSql, createJobSql, type JobFields } from './job-sql.ts'
import { titleOf } from './job-title.ts'

type JobDialogProps = {
  /** Undefined for a new one. */
  readonly job?: ScheduleJob
  /** Whether it can be chosen what happens to missed runs. */
  readonly hasMissed: boolean
  readonly onChange: () => void
  readonly onClose: () => void
}

const nothing: JobFields = { name: '', schedule: '', command: '', missed: 'skip' }

export function JobDialog({ job, hasMissed, onChange, onClose }: JobDialogProps) {
  const [fields, setFields] = useState<JobFields>(job ? { ...job, name: job.name ?? '' } : nothing)
  const [sql, setSql] = useState<string>()
  const change = (changed: Partial<JobFields>): void => {
    setFields({ ...fields, ...changed })
    setSql(undefined)
  }
  return (
    <Dialog title={job ? `Change ${titleOf(job)}` : 'New job'} onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setSql(job ? changeJobSql(job, fields) : createJobSql(fields))
        }}
      >
        {!job && (
          <TextField
            label="Name"
            required
            placeholder="nightly"
            value={fields.name}
            onText={(name) => change({ name })}
          />
        )}
        <TextField
          label="Schedule"
          required
          class="mono"
          placeholder="30 3 * * *, @hourly or 30 seconds"
          value={fields.schedule}
          onText={(schedule) => change({ schedule })}
        />
        <Field label="SQL">
          <textarea
            required
            rows={6}
            value={fields.command}
            onInput={({ currentTarget }) => change({ command: currentTarget.value })}
          />
        </Field>
        {hasMissed && (
          <Field label="If no server was there at a due time">
            <select
              value={fields.missed}
              onChange={({ currentTarget }) => change({ missed: currentTarget.value === 'once' ? 'once' : 'skip' })}
            >
              <option value="skip">wait for the next one</option>
              <option value="once">run once when a server is there again</option>
            </select>
          </Field>
        )}
        {!job && <p class="small faint">It runs as the role that runs the SQL.</p>}
        {sql === undefined && (
          <div class="actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind="primary">
              Show the SQL
            </Button>
          </div>
        )}
      </form>
      {sql === '' && <p role="status">Nothing is changed.</p>}
      {sql !== undefined && sql !== '' && (
        <Statement
          key={sql}
          sql={sql}
          suggestion={job ? `change ${titleOf(job)}` : `schedule ${fields.name}`}
          onRun={onChange}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}
