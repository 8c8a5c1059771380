// A new webhook: its migration, as `rowhouse webhook add` prints it.
import { useState } from 'preact/hooks'
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import type { NewWebhook, NewWebhookEvent, WebhookMigration } from '../../../services/console/webhook-protocol.ts'
import { consoleApi } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { headersOf } from '../../header-lines.ts'
import { Button, Dialog, Field, Problem, TextField, useLoaded } from '../../parts.tsx'
import { Statement } from '../../sql-statement.tsx'
import { toggled } from '../../values.tsx'

type NewWebhookProps = { readonly onClose: () => void }

export function NewWebhookDialog({ onClose }: NewWebhookProps) {
  const [migration, setMigration] = useState<WebhookMigration>()
  return (
    <Dialog title="New webhook" onClose={onClose} isWide>
      {migration ? (
        <>
          <p>This migration creates it. Nothing is changed yet.</p>
          <Statement sql={migration.sql} suggestion={migration.name} onClose={onClose} />
          <div class="actions">
            <Button onClick={() => setMigration(undefined)}>Back</Button>
          </div>
        </>
      ) : null}
      {/* What was typed is kept while the migration is shown. */}
      <div class={migration ? 'hidden' : ''}>
        <WebhookForm onMigration={setMigration} onClose={onClose} />
      </div>
    </Dialog>
  )
}

const allEvents: readonly NewWebhookEvent[] = ['insert', 'update', 'delete']

type WebhookFormProps = { readonly onMigration: (migration: WebhookMigration) => void; readonly onClose: () => void }

function WebhookForm({ onMigration, onClose }: WebhookFormProps) {
  const { value: schema } = useLoaded((signal) => consoleApi<ConsoleSchema>('schema', { signal }), [])
  const [fields, setFields] = useState({ table: '', url: '', name: '', when: '', secret: '', key: '', headers: '' })
  const [events, setEvents] = useState<ReadonlySet<string>>(new Set(['insert']))
  const { error, isBusy, run } = useAction()
  const change = (name: keyof typeof fields) => (text: string) => setFields({ ...fields, [name]: text })
  const tables = schema?.relations.filter(({ kind }) => kind === 'table' || kind === 'partitioned table') ?? []
  return (
    <form
      class="new-webhook"
      onSubmit={(event) => {
        event.preventDefault()
        run(async () => {
          const body = wishOf(fields, events)
          onMigration(await consoleApi<WebhookMigration>('webhooks/sql', { method: 'POST', body }))
        })
      }}
    >
      <Field label="Table">
        <input
          required
          list="webhook-tables"
          placeholder="public.orders"
          value={fields.table}
          onInput={({ currentTarget }) => change('table')(currentTarget.value)}
        />
      </Field>
      <datalist id="webhook-tables">
        {tables.map(({ schema: of, name }) => (
          <option key={`${of}.${name}`} value={`${sqlName(of)}.${sqlName(name)}`} />
        ))}
      </datalist>
      <fieldset>
        <legend>When rows are changed by</legend>
        {allEvents.map((event) => (
          <label key={event}>
            <input type="checkbox" checked={events.has(event)} onChange={() => setEvents(toggled(events, event))} />{' '}
            {event}
          </label>
        ))}
      </fieldset>
      <TextField
        label="URL"
        required
        placeholder="https://example.com/hook"
        value={fields.url}
        onText={change('url')}
      />
      <TextField
        label="Only rows with"
        class="mono"
        placeholder="new.total > 100"
        value={fields.when}
        onText={change('when')}
      />
      <TextField
        label="Name of the secret that signs the calls"
        placeholder="none"
        value={fields.secret}
        onText={change('secret')}
      />
      <TextField
        label="In order per columns"
        placeholder="none: in any order"
        value={fields.key}
        onText={change('key')}
      />
      <Field label="Headers, one per line">
        <textarea
          rows={2}
          placeholder="X-Tenant: 5"
          value={fields.headers}
          onInput={({ currentTarget }) => change('headers')(currentTarget.value)}
        />
      </Field>
      <TextField label="Name" placeholder="that of the table" value={fields.name} onText={change('name')} />
      <Problem error={error} />
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={events.size === 0}>
          Show the migration
        </Button>
      </div>
    </form>
  )
}

/** A name as SQL reads it. */
const sqlName = (name: string): string => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`)

type Fields = Readonly<Record<'table' | 'url' | 'name' | 'when' | 'secret' | 'key' | 'headers', string>>

/** @throws Error for a line that is not a header */
function wishOf({ table, url, name, when, secret, key, headers }: Fields, events: ReadonlySet<string>): NewWebhook {
  const columns = key
    .split(',')
    .map((column) => column.trim())
    .filter(Boolean)
  const lines = headersOf(headers)
  const optional = { name: name.trim(), when: when.trim(), secret: secret.trim() }
  return {
    table: table.trim(),
    events: allEvents.filter((event) => events.has(event)),
    url: url.trim(),
    ...Object.fromEntries(Object.entries(optional).filter(([, text]) => text !== '')),
    ...(columns.length === 0 ? {} : { key: columns }),
    ...(lines.length === 0 ? {} : { headers: Object.fromEntries(lines) }),
  }
}
