// Webhooks of the database, and the calls that they and functions of the schema `net` cause.
import { useState } from 'preact/hooks'
import type { CallFigures, WebhookReport } from '../../../services/console/webhook-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Figure, Figures } from '../../figures.tsx'
import { Problem, Tabs } from '../../parts.tsx'
import { usePolled } from '../../polling.ts'
import { go, useRoute } from '../../router.ts'
import { durationText } from '../../values.tsx'
import { Calls } from './calls.tsx'
import { WebhookList } from './webhook-list.tsx'

/** Milliseconds between two looks. */
const pauseTime = 5000

export default function Webhooks() {
  const { path } = useRoute()
  const tab = path[1] === 'calls' ? 'calls' : 'list'
  const { value, error, reload } = usePolled(
    (signal) => consoleApi<WebhookReport>('webhooks', { signal }),
    [],
    pauseTime,
  )
  const [changes, setChanges] = useState(0)
  return (
    <div class="webhooks">
      <h1>Webhooks</h1>
      <Tabs
        label="What to show"
        tabs={[
          { key: 'list', label: 'Webhooks' },
          { key: 'calls', label: 'Calls' },
        ]}
        chosen={tab}
        onChoose={(key) => go(key === 'list' ? ['webhooks'] : ['webhooks', key])}
      />
      <Problem error={error} />
      {value && <CallNumbers figures={value.figures} />}
      {tab === 'calls' ? (
        <Calls
          webhooks={value?.webhooks ?? []}
          changes={changes}
          onChange={() => {
            setChanges(changes + 1)
            reload()
          }}
        />
      ) : (
        <WebhookList report={value} hasFailed={error !== undefined} />
      )}
    </div>
  )
}

const CallNumbers = ({ figures: { waiting, sending, dead, oldestWaiting } }: { readonly figures: CallFigures }) => (
  <Figures>
    <Figure name="Waiting calls" value={waiting} />
    <Figure name="Being sent" value={sending} />
    <Figure name="Put aside" value={dead} />
    {oldestWaiting !== null && <Figure name="The oldest waits for" value={durationText(oldestWaiting)} />}
  </Figures>
)
