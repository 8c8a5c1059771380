// What the server does, while one looks: the requests as they end, their rate and latency, and slow statements.
import { useState } from 'preact/hooks'
import type { RequestEntry } from '../../../services/console/request-protocol.ts'
import { serverUrl } from '../../api.ts'
import { Badge, Button, Empty, Loading, Problem, Snippet, Table, Tabs } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { timeText } from '../../values.tsx'
import { Details, statusKind } from './details.tsx'
import { filterOf, Filters } from './filters.tsx'
import { Statements } from './statements.tsx'
import { isOfOthers, useTail, type Tail } from './tail.ts'
import { TimeChart } from './time-chart.tsx'

/** Requests of the table. */
const shown = 200

export default function Requests() {
  const { path } = useRoute()
  const [isPaused, setPaused] = useState(false)
  const tail = useTail(isPaused)
  const tab = path[1] === 'statements' ? 'statements' : 'live'
  return (
    <div class="requests">
      <h1>Requests</h1>
      <Tabs
        label="What to show"
        tabs={[
          { key: 'live', label: 'Live' },
          { key: 'statements', label: 'Slow statements' },
        ]}
        chosen={tab}
        onChoose={(key) => go(key === 'live' ? ['requests'] : ['requests', key])}
      />
      {tab === 'statements' ? <Statements /> : <Live tail={tail} isPaused={isPaused} onPause={setPaused} />}
    </div>
  )
}

type LiveProps = {
  readonly tail: Tail
  readonly isPaused: boolean
  readonly onPause: (isPaused: boolean) => void
}

function Live({ tail, isPaused, onPause }: LiveProps) {
  const { query } = useRoute()
  const [chosen, setChosen] = useState<RequestEntry>()
  const { entries, figures, lost, worker, isOpen, error, clear } = tail
  const found = entries.filter(filterOf(query))
  return (
    <>
      <div class="charts">
        <TimeChart
          label="Requests per second"
          unit="/s"
          series={[
            { label: 'all', color: '--link' },
            { label: '5xx', color: '--bad' },
          ]}
          data={() => figures.at(Date.now()).rate}
          isPaused={isPaused}
        />
        <TimeChart
          label="Latency"
          unit="ms"
          series={[
            { label: 'p50', color: '--good' },
            { label: 'p95', color: '--warning' },
            { label: 'p99', color: '--bad' },
          ]}
          data={() => figures.at(Date.now()).latency}
          isPaused={isPaused}
        />
      </div>
      <div class="bar">
        <Button kind={isPaused ? 'primary' : 'plain'} onClick={() => onPause(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
        <Button onClick={clear}>Clear</Button>
        <Filters query={query} entries={entries} />
      </div>
      <p class="small faint" role="status">
        {isOpen ? (isPaused ? 'Paused.' : 'Live.') : 'Connecting …'}{' '}
        {worker === null
          ? 'Requests are recorded while this page is open.'
          : `Requests of this process only: it is number ${worker + 1} of several.`}
        {lost > 0 && ` ${lost} requests were too many to be sent to this page.`}
      </p>
      <Problem error={error} />
      {found.length === 0 ? (
        isOpen ? (
          <NoRequests isFiltered={entries.some(isOfOthers)} />
        ) : (
          error === undefined && <Loading />
        )
      ) : (
        <RequestTable entries={found.slice(0, shown)} onChoose={setChosen} />
      )}
      {chosen && <Details entry={chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

function NoRequests({ isFiltered }: { readonly isFiltered: boolean }) {
  const { restPath } = useSession()
  if (isFiltered) {
    return (
      <Empty title="No request fulfils the conditions">
        <Button onClick={() => go(['requests'])}>Show all</Button>
      </Empty>
    )
  }
  const url = `${serverUrl.replace(/\/$/, '')}${restPath === '/' ? '' : restPath}/`
  return (
    <Empty title="Waiting for requests">
      <p>Send one, from your application or a shell:</p>
      <Snippet text={`curl '${url}'`} />
    </Empty>
  )
}

type RequestTableProps = {
  readonly entries: readonly RequestEntry[]
  readonly onChoose: (entry: RequestEntry) => void
}

const RequestTable = ({ entries, onChoose }: RequestTableProps) => (
  <Table class="request-table" head={['Time', 'Status', 'Request', 'Role', 'Duration', 'Database', 'Rows']}>
    {entries.map((entry) => (
      <tr key={entry.number}>
        <td class="faint">{timeText(entry.at)}</td>
        <td>
          <Badge kind={statusKind(entry.status)}>{entry.status}</Badge>
        </td>
        <td>
          <button type="button" class="request" title={entry.path} onClick={() => onChoose(entry)}>
            <strong>{entry.method}</strong> {entry.path}
          </button>
        </td>
        <td>{entry.role ?? ''}</td>
        <td class="number">{entry.duration} ms</td>
        <td class="number">{entry.database === null || entry.database === 0 ? '' : `${entry.database} ms`}</td>
        <td class="number">{entry.rows ?? ''}</td>
      </tr>
    ))}
  </Table>
)
