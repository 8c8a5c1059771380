// Channels and members of the server, and how far behind the log is.
import { useEffect } from 'preact/hooks'
import type { RealtimeLog, RealtimeReport, RealtimeTopic } from '../../../services/console/realtime-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Figure, Figures } from '../../figures.tsx'
import { Badge, Empty, Loading, Problem, Table, useLoaded } from '../../parts.tsx'

/** Milliseconds between two looks. */
const pauseTime = 2000

export function Channels() {
  const { value, error, reload } = useLoaded((signal) => consoleApi<RealtimeReport>('realtime', { signal }), [])
  useEffect(() => {
    const timer = setInterval(reload, pauseTime)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <Problem error={error} />
      {value ? <Report report={value} /> : error === undefined && <Loading />}
    </>
  )
}

const Report = ({ report }: { readonly report: RealtimeReport }) => (
  <>
    <Figures>
      <Figure name="WebSockets" value={report.sockets} />
      <Figure name="Messages received" value={report.received} />
      <Figure name="Messages delivered" value={report.delivered} />
      <Figure name="Row changes delivered" value={report.changes} />
      {report.log && <Figure name="Subscriptions to rows" value={report.log.subscribers} />}
    </Figures>
    {report.log && <LogLine log={report.log} />}
    {report.drops.map(({ reason, count }) => (
      <p key={reason}>
        <Badge kind="warning">{count}</Badge> dropped or refused: {reason}
      </p>
    ))}
    {report.topics.length === 0 ? (
      <Empty title="No channels">
        <p>
          {report.isStarted
            ? 'No client has joined a channel of this process.'
            : 'The service starts with its first client. Subscribe to something to try it.'}
        </p>
      </Empty>
    ) : (
      <Table head={['Topic', 'Members', 'Present']}>
        {report.topics.map((topic) => (
          <TopicRow key={`${topic.isPrivate} ${topic.topic}`} topic={topic} />
        ))}
      </Table>
    )}
  </>
)

const kinds = { reading: 'good', stopped: 'plain', lost: 'bad', unavailable: 'bad' } as const
const states = {
  reading: 'is read',
  stopped: 'is not read: nothing subscribes to row changes',
  lost: 'is lost, and will be read again',
  unavailable: 'cannot be read',
} as const

const LogLine = ({ log: { state, message, lagBytes, lagSeconds } }: { readonly log: RealtimeLog }) => (
  <p>
    The log of the database <Badge kind={kinds[state]}>{states[state]}</Badge>{' '}
    {state === 'reading' && (
      <span class="faint">
        {lagSeconds.toFixed(1)} s and {lagBytes} bytes behind
      </span>
    )}
    {message !== null && <span> {message}</span>}
  </p>
)

const TopicRow = ({
  topic: { topic, isPrivate, members, memberCount, present },
}: {
  readonly topic: RealtimeTopic
}) => (
  <tr>
    <td>
      <code>{topic}</code> {isPrivate && <Badge>private</Badge>}
    </td>
    <td>
      {members.map(({ role, user, bindings }, index) => (
        <div key={index}>
          {role}
          {user !== null && (
            <>
              {' '}
              <code class="small">{user}</code>
            </>
          )}
          {bindings.length > 0 && (
            <>
              {' '}
              <code class="small faint">{JSON.stringify(bindings)}</code>
            </>
          )}
        </div>
      ))}
      {memberCount > members.length && <span class="faint">and {memberCount - members.length} more</span>}
    </td>
    <td>{present}</td>
  </tr>
)
