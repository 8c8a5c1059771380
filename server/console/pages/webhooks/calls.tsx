// Outgoing calls: what waits, what was delivered, and what was put aside.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CallEntry, CallPage, CallState, WebhookEntry } from '../../../services/console/webhook-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Badge, Button, Empty, Loading, Problem, Table, useLoaded } from '../../parts.tsx'
import { go, useRoute } from '../../router.ts'
import { Time } from '../../values.tsx'
import { CallDialog } from './call-dialog.tsx'
import { CallFilters, filterOf } from './call-filters.tsx'
import { Resend } from './resend.tsx'

type CallsProps = {
  readonly webhooks: readonly WebhookEntry[]
  /** Counts what was changed. */
  readonly changes: number
  readonly onChange: () => void
}

export function Calls({ webhooks, changes, onChange }: CallsProps) {
  const filter = filterOf(useRoute().query)
  const key = String(new URLSearchParams(filter))
  const [chosen, setChosen] = useState<string>()
  const [isSending, setSending] = useState(false)
  const { calls, next, error, isLoading, reload, more } = useCalls(key, changes)
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
      {calls?.length === 0 && next === null && <NoCalls isFiltered={key !== ''} />}
      {calls && calls.length > 0 && (
        <Table class="calls" head={['Caused', 'State', 'Call', 'Webhook', 'Attempts', 'Last response']}>
          {calls.map((call) => (
            <CallRow key={call.id} call={call} onChoose={setChosen} />
          ))}
        </Table>
      )}
      {calls && next !== null && (
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

type Listed = {
  readonly calls: readonly CallEntry[] | undefined
  readonly next: string | null
  readonly error: unknown
  readonly isLoading: boolean
  readonly reload: () => void
  readonly more: () => void
}

/** The calls that fulfil the conditions, page by page. @param filter the query of the route */
function useCalls(filter: string, changes: number): Listed {
  const first = useLoaded((signal) => consoleApi<CallPage>(pathOf(filter), { signal }), [filter, changes])
  const [older, setOlder] = useState<CallPage>()
  const { error, isBusy, run } = useAction()
  const current = useRef(first.value)
  current.current = first.value
  useEffect(() => setOlder(undefined), [first.value])
  const next = (older ?? first.value)?.next ?? null
  const more = async (): Promise<void> => {
    const since = first.value
    const page = await consoleApi<CallPage>(pathOf(filter, next))
    // The conditions may have been changed meanwhile.
    if (current.current === since) setOlder({ ...page, calls: [...(older?.calls ?? []), ...page.calls] })
  }
  return {
    calls: first.value && [...first.value.calls, ...(older?.calls ?? [])],
    next,
    error: first.error ?? error,
    isLoading: first.isLoading || isBusy,
    reload: first.reload,
    more: () => run(more),
  }
}

function pathOf(filter: string, before: string | null = null): string {
  const query = new URLSearchParams(filter)
  if (before !== null) query.set('before', before)
  return `webhooks/calls?${String(query)}`
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

const kinds = { waiting: 'plain', sending: 'plain', delivered: 'good', dead: 'bad' } as const
const words = { waiting: 'waiting', sending: 'being sent', delivered: 'delivered', dead: 'put aside' } as const

export const StateBadge = ({ state }: { readonly state: CallState }) => (
  <Badge kind={kinds[state]}>{words[state]}</Badge>
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
