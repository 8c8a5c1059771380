// The webhooks of the database.
import { useState } from 'preact/hooks'
import type { WebhookEntry, WebhookReport } from '../../../services/console/webhook-protocol.ts'
import { Badge, Button, Empty, Loading, Table } from '../../parts.tsx'
import { href } from '../../router.ts'
import { NewWebhookDialog } from './new-webhook.tsx'

type WebhookListProps = {
  readonly report: WebhookReport | undefined
  readonly hasFailed: boolean
}

export function WebhookList({ report, hasFailed }: WebhookListProps) {
  const [isAdding, setAdding] = useState(false)
  if (!report) return hasFailed ? null : <Loading />
  const add = (
    <Button kind="primary" onClick={() => setAdding(true)}>
      New webhook
    </Button>
  )
  return (
    <>
      {report.webhooks.length === 0 ? (
        <Empty title="No webhooks yet">
          <p>
            A webhook is a trigger that calls a URL when rows change. <code>rowhouse webhook add</code> prints its
            migration, and so does this page. Triggers that call <code>supabase_functions.http_request</code> are listed
            here, too.
          </p>
          {add}
        </Empty>
      ) : (
        <>
          <div class="bar">{add}</div>
          <Table head={['Webhook', 'Events', 'Calls', 'Signed with']}>
            {report.webhooks.map((webhook) => (
              <WebhookRow key={`${webhook.name} ${webhook.url} ${webhook.events.join()}`} webhook={webhook} />
            ))}
          </Table>
        </>
      )}
      {isAdding && <NewWebhookDialog onClose={() => setAdding(false)} />}
    </>
  )
}

const WebhookRow = ({
  webhook: { name, table, kind, events, method, url, condition, secret, key, headers, isEnabled },
}: {
  readonly webhook: WebhookEntry
}) => (
  <tr>
    <td>
      <a href={href(['webhooks', 'calls'], { webhook: name })}>{name.slice(table.length + 1)}</a>{' '}
      {kind === 'supabase' && <Badge title="A trigger that calls supabase_functions.http_request">Supabase</Badge>}{' '}
      {!isEnabled && <Badge kind="warning">disabled</Badge>}
      <br />
      <code class="small">{table}</code>
    </td>
    <td>
      {events.join(', ')}
      {condition !== null && (
        <>
          <br />
          <span class="small">
            when <code>{condition}</code>
          </span>
        </>
      )}
      {key.length > 0 && (
        <>
          <br />
          <span class="small">
            in order per <code>{key.join(', ')}</code>
          </span>
        </>
      )}
    </td>
    <td class="address">
      <code>
        {method} {url}
      </code>
      {headers.length > 0 && (
        <>
          <br />
          <span class="small faint">with {headers.join(', ')}</span>
        </>
      )}
    </td>
    <td>{secret === null ? <span class="faint">not signed</span> : <code>{secret}</code>}</td>
  </tr>
)
