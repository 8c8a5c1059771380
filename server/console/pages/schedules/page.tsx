// Schedules: jobs, and their runs.
import type { ScheduleReport } from '../../../services/console/schedule-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Loading, Problem, Tabs } from '../../parts.tsx'
import { usePolled } from '../../polling.ts'
import { go, useRoute } from '../../router.ts'
import { Jobs } from './jobs.tsx'
import { Runs } from './runs.tsx'

/** Milliseconds between two looks. */
const pauseTime = 3000

export default function Schedules() {
  const { path } = useRoute()
  const tab = path[1] === 'runs' ? 'runs' : 'jobs'
  const { value, error, reload } = usePolled(
    (signal) => consoleApi<ScheduleReport>('schedules', { signal }),
    [],
    pauseTime,
  )
  return (
    <div class="schedules">
      <h1>Schedules</h1>
      <Tabs
        label="What to show"
        tabs={[
          { key: 'jobs', label: 'Jobs' },
          { key: 'runs', label: 'Runs' },
        ]}
        chosen={tab}
        onChoose={(key) => go(key === 'jobs' ? ['schedules'] : ['schedules', key])}
      />
      <Problem error={error} />
      {value?.isOwn === false && (
        <p role="note">
          The extension pg_cron is installed in this database and runs the jobs. This server shows them, and runs none.
        </p>
      )}
      {tab === 'runs' ? (
        <Runs jobs={value?.jobs ?? []} />
      ) : value ? (
        <Jobs report={value} onChange={reload} />
      ) : (
        error === undefined && <Loading />
      )}
    </div>
  )
}
