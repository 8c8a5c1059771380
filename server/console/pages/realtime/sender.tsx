// Sends broadcasts to the topic, and tracks presence, as the first viewer.
import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import type { Viewer } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Button, Problem, TextField } from '../../parts.tsx'
import { viewerLabel } from '../../viewer.tsx'
import type { Watch } from './watch.ts'

type SenderProps = { readonly watch: RefObject<Watch | null>; readonly viewer: Viewer | undefined }

export function Sender({ watch, viewer }: SenderProps) {
  const [event, setEvent] = useState('message')
  const [payload, setPayload] = useState('{ "text": "hello" }')
  const [isTracked, setTracked] = useState(false)
  const { error, isBusy, run } = useAction()
  return (
    <form
      class="sender"
      onSubmit={(submitted) => {
        submitted.preventDefault()
        run(async () => watch.current?.send(event, JSON.parse(payload) as Readonly<Record<string, unknown>>))
      }}
    >
      <TextField label="Event" required value={event} onText={setEvent} />
      <TextField label="Payload" class="mono" required value={payload} onText={setPayload} />
      <Button type="submit" isBusy={isBusy}>
        Send as {viewer ? viewerLabel(viewer) : ''}
      </Button>
      <Button
        onClick={() =>
          run(async () => {
            await watch.current?.track(isTracked ? undefined : { from: 'console' })
            setTracked(!isTracked)
          })
        }
      >
        {isTracked ? 'Leave presence' : 'Enter presence'}
      </Button>
      <Problem error={error} />
    </form>
  )
}
