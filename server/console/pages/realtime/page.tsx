// Realtime: subscribe as a viewer, see who gets an event and why another does not, and what the server has open.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { Button, Tabs } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import { Channels } from './channels.tsx'
import { Events } from './events.tsx'
import { Sender } from './sender.tsx'
import { Unpublished } from './unpublished.tsx'
import { Watch, type WatchState, type Wish } from './watch.ts'
import { WishForm } from './wish-form.tsx'

type Running = { readonly wish: Wish; readonly viewers: readonly Viewer[] }

export default function Realtime() {
  const { path } = useRoute()
  const tab = path[1] === 'channels' ? 'channels' : 'watch'
  return (
    <div class="realtime">
      <h1>Realtime</h1>
      <Tabs
        label="What to show"
        tabs={[
          { key: 'watch', label: 'Subscribe' },
          { key: 'channels', label: 'Channels' },
        ]}
        chosen={tab}
        onChoose={(key) => go(key === 'watch' ? ['realtime'] : ['realtime', key])}
      />
      {tab === 'channels' ? <Channels /> : <Subscribe />}
    </div>
  )
}

function Subscribe() {
  const { viewer } = useViewer()
  const [running, setRunning] = useState<Running>()
  const [state, setState] = useState<WatchState>()
  const watch = useRef<Watch>(null)
  useEffect(() => {
    setState(undefined)
    if (!running) return undefined
    const started = new Watch(running.wish, running.viewers, setState)
    watch.current = started
    return () => started.end()
  }, [running])
  return (
    <>
      <WishForm
        isRunning={running !== undefined}
        onStart={(wish, other) => setRunning({ wish, viewers: other ? [viewer, other] : [viewer] })}
        onStop={() => setRunning(undefined)}
      />
      {running && state && (
        <>
          <ul class="subscriptions" role="status">
            {running.viewers.map((it, index) => (
              <li key={index}>
                <strong>{viewerLabel(it)}</strong> {statusText(state.statuses[index])}
                {state.problems[index] !== undefined && <p class="problem">{state.problems[index]}</p>}
              </li>
            ))}
          </ul>
          {running.wish.kind === 'channel' && <Sender watch={watch} viewer={running.viewers[0]} />}
          {running.wish.kind === 'changes' && state.problems.every((problem) => problem !== undefined) ? (
            <Unpublished {...running.wish} onAdded={() => setRunning({ ...running })} />
          ) : (
            <Events wish={running.wish} viewers={running.viewers} state={state} />
          )}
        </>
      )}
      {!running && (
        <p class="faint">
          You subscribe as <strong>{viewerLabel(viewer)}</strong>; choose another viewer in the header. A second viewer
          subscribes to the same, so that you see which events only one of both gets, and why.
        </p>
      )}
      {running && !isSame(running.viewers[0], viewer) && (
        <Button onClick={() => setRunning({ ...running, viewers: [viewer, ...running.viewers.slice(1)] })}>
          Subscribe again as {viewerLabel(viewer)}
        </Button>
      )}
    </>
  )
}

const isSame = (one: Viewer | undefined, other: Viewer): boolean => JSON.stringify(one) === JSON.stringify(other)

function statusText(status: string | undefined): string {
  if (status === 'SUBSCRIBED') return 'is subscribed'
  if (status === 'CHANNEL_ERROR' || status === 'refused') return 'may not subscribe'
  if (status === 'TIMED_OUT') return 'has waited too long'
  return status === 'CLOSED' ? 'is no longer subscribed' : 'is subscribing …'
}
