// The events that arrive, who gets them, and why another viewer does not.
import { useEffect, useState } from 'preact/hooks'
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import { consoleApi, type Viewer } from '../../api.ts'
import { Explanation } from '../../explanation/explanation.tsx'
import { Badge, Dialog, Empty, Loading, Problem, Snippet, useLoaded } from '../../parts.tsx'
import { useSession } from '../../session.tsx'
import { timeText } from '../../values.tsx'
import { viewerLabel } from '../../viewer.tsx'
import type { WatchEvent, WatchState, Wish } from './watch.ts'

/** Milliseconds after which an event that has not arrived does not arrive. */
const patience = 2000

type EventsProps = { readonly wish: Wish; readonly viewers: readonly Viewer[]; readonly state: WatchState }

type Asked = { readonly event: WatchEvent; readonly viewer: Viewer }

export function Events({ wish, viewers, state: { events } }: EventsProps) {
  const [asked, setAsked] = useState<Asked>()
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  if (events.length === 0) {
    return (
      <Empty title="Waiting for events">
        {wish.kind === 'changes' ? (
          <p>
            Change a row of{' '}
            <code>
              {wish.schema}.{wish.table}
            </code>
            , on the tables page or in your application.
          </p>
        ) : (
          <p>Send a message to the topic, here or from your application.</p>
        )}
      </Empty>
    )
  }
  return (
    <>
      <ol class="events">
        {events.map((event) => (
          <li key={event.key} class="card">
            <p>
              <Badge>{event.type}</Badge> <strong>{event.title}</strong>{' '}
              <span class="faint small">{timeText(event.at)}</span>{' '}
              {viewers.map((viewer, index) => (
                <Receiver
                  key={index}
                  viewer={viewer}
                  state={event.receivers.includes(index) ? 'yes' : now - event.at > patience ? 'no' : 'maybe'}
                  onWhy={event.row && event.type !== 'DELETE' ? () => setAsked({ event, viewer }) : undefined}
                />
              ))}
            </p>
            <details>
              <summary>Payload</summary>
              <Snippet text={JSON.stringify(event.payload, null, 2)} />
            </details>
          </li>
        ))}
      </ol>
      {asked && <Why asked={asked} wish={wish} onClose={() => setAsked(undefined)} />}
    </>
  )
}

type ReceiverProps = {
  readonly viewer: Viewer
  readonly state: 'yes' | 'no' | 'maybe'
  readonly onWhy: (() => void) | undefined
}

const Receiver = ({ viewer, state, onWhy }: ReceiverProps) => (
  <span class="receiver">
    <Badge kind={state === 'yes' ? 'good' : state === 'no' ? 'warning' : 'plain'}>
      {viewerLabel(viewer)} {state === 'yes' ? 'gets it' : state === 'no' ? 'does not get it' : '…'}
    </Badge>
    {state === 'no' && onWhy && (
      <button type="button" class="button" onClick={onWhy}>
        Why not?
      </button>
    )}
  </span>
)

type WhyProps = { readonly asked: Asked; readonly wish: Wish; readonly onClose: () => void }

/** Explains a read of the changed row: a viewer gets the changes of the rows that they may read. */
function Why({ asked: { event, viewer }, wish: { schema, table }, onClose }: WhyProps) {
  const { restPath } = useSession()
  const { value, error } = useLoaded(
    (signal) =>
      consoleApi<RelationDetails>(`schema/relation?${String(new URLSearchParams({ schema, name: table }))}`, {
        signal,
      }),
    [schema, table],
  )
  return (
    <Dialog title={`Why does ${viewerLabel(viewer)} not get it?`} onClose={onClose} isWide>
      <p>A viewer gets the changes of rows that they may read. This reads the row as {viewerLabel(viewer)}:</p>
      <Problem error={error} />
      {!value && error === undefined && <Loading />}
      {value && !value.isExposed && <p>The REST API does not have the table, so that its reads cannot be explained.</p>}
      {value?.isExposed === true && (
        <Explanation
          viewer={viewer}
          request={{
            request: `GET ${restPath === '/' ? '' : restPath}/${encodeURIComponent(table)}?${keyOf(event, value)}`,
            headers: [`Accept-Profile: ${schema}`],
          }}
        />
      )}
    </Dialog>
  )
}

const keyOf = ({ row = {} }: WatchEvent, { primaryKey }: RelationDetails): string =>
  String(new URLSearchParams(primaryKey.map((name) => [name, `eq.${String(row[name])}`])))
