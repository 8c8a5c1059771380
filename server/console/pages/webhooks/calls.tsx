// Outgoing calls: what waits, what was delivered, and what was put aside.
import { useState } from 'preact/hooks'
import type { CallEntry, WebhookEntry } from '../../../services/console/webhook-protocol.ts'
import { usePages } from '../../paging.ts'
import { Badge, Button, Empty, Loading, Problem, Table } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { Time } from '../../values.tsx'
import { CallDialog } from './call-dialog.tsx'
import { CallFilters, filterOf } from './call-filters.tsx'
import { Resend } from './resend.tsx'
import { StateBadge } from './state-badge.tsx'

type CallsProps = {
  readonly webhooks: readonly WebhookEntry[]
  /** Counts what was changed. */
  readonly changes: number
  readonly onChange: () => void
}

export function Calls({ webhooks, changes, onChange }: CallsProps) {
  const filter = filterOf(useRoute().query)
  const query = new URLSearchParams(filter)
  const [chosen, setChosen] = useState<string>()
  const [isSending, setSending] = useState(false)
  const {
    items: calls,
    hasMore,
    error,
    isLoading,
    reload,
    more,
  } = usePages<CallEntry>('webhooks/calls', query, [changes])
  return (
    <>
      <div class="bar">
        <CallFilters filter={filter} webhooks={webhooks} />
        <Button isBusy={isLoading} onClick={reload}>
          Refresh
        </Button>
        {filter.state === 'dead' && calls !== undefined && calls.length > 0 && (
          <Button onClick={() => setSending(true)}>Send all of them again</Button>
        )}
      </div>
      <Problem error={error} />
      {!calls && error === undefined && <Loading />}
      {calls?.length === 0 && !hasMore && <NoCalls isFiltered={query.size > 0} />}
      {calls && calls.length > 0 && (
        <Table class="calls" head={['Caused', 'State', 'Call', 'Webhook', 'Attempts', 'Last response']}>
          {calls.map((call) => (
            <CallRow key={call.id} call={call} onChoose={setChosen} />
          ))}
        </Table>
      )}
      {calls && hasMore && (
        <p>
          {calls.length === 0 && 'None of the latest 10,000 fulfils the conditions. '}
          <Button isBusy={isLoading} onClick={more}>
            Older calls
          </Button>
        </p>
      )}
      {chosen !== undefined && (
        <CallDialog
          id={chosen}
          onChange={onChange}
          onClose={() => {
            setChosen(undefined)
          }}
        />
      )}
      {isSending && <Resend filter={filter} onChange={onChange} onClose={() => setSending(false)} />}
    </>
  )
}

const NoCalls = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No call fulfils the conditions">
      <Button onClick={() => go(['webhooks', 'calls'])}>Show all</Button>
    </Empty>
  ) : (
    <Empty title="No calls yet">
      <p>
        Calls of webhooks and of <code>net.http_post</code> are listed here when their transaction is committed. They
        are kept for some time after they were delivered.
      </p>
    </Empty>
  )

type CallRowProps = { readonly call: CallEntry; readonly onChoose: (id: string) => void }

const CallRow = ({
  call: { id, webhook, method, url, state, attempts, createdAt, nextAt, status, error },
  onChoose,
}: CallRowProps) => (
  <tr>
    <td>
      <Time at={createdAt} />
    </td>
    <td>
      <StateBadge state={state} />
    </td>
    <td>
      <button type="button" class="request" title={url} onClick={() => onChoose(id)}>
        <strong>{method}</strong> {url}
      </button>
    </td>
    <td class="cut" title={webhook ?? ''}>
      {webhook ?? <span class="faint">net</span>}
    </td>
    <td>
      {attempts}
      {state === 'waiting' && attempts > 0 && nextAt !== null && (
        <span class="small faint">
          {' '}
          next <Time at={nextAt} />
        </span>
      )}
    </td>
    <td class="cut" title={error ?? ''}>
      {status !== null && <Badge kind={status >= 200 && status < 300 ? 'good' : 'warning'}>{status}</Badge>} {error}
    </td>
  </tr>
)
