// Chooses what to subscribe to, and the second viewer.
import { useState } from 'preact/hooks'
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import { consoleApi, type Viewer } from '../../api.ts'
import { Button, Field, Problem, Tabs, useLoaded } from '../../parts.tsx'
import { useSession } from '../../session.tsx'
import type { Wish } from './watch.ts'

type WishFormProps = {
  readonly isRunning: boolean
  readonly onStart: (wish: Wish, other: Viewer | undefined) => void
  readonly onStop: () => void
}

const first: Wish = {
  kind: 'changes',
  schema: 'public',
  table: '',
  event: '*',
  filter: '',
  topic: '',
  isPrivate: false,
}

export function WishForm({ isRunning, onStart, onStop }: WishFormProps) {
  const { roles } = useSession()
  const [wish, setWish] = useState(first)
  const [other, setOther] = useState(roles.includes('service_role') ? 'service_role' : '')
  const [user, setUser] = useState('')
  const change = (changed: Partial<Wish>): void => setWish({ ...wish, ...changed })
  const second = (): Viewer | undefined => {
    if (other === 'user') return { kind: 'user', id: user, label: `user ${user.slice(0, 8)}…` }
    return other === '' ? undefined : { kind: 'role', role: other }
  }
  return (
    <form
      class="wish card"
      onSubmit={(event) => {
        event.preventDefault()
        onStart(wish, second())
      }}
    >
      <Tabs
        label="What to subscribe to"
        tabs={[
          { key: 'changes', label: 'Row changes' },
          { key: 'channel', label: 'Broadcast and presence' },
        ]}
        chosen={wish.kind}
        onChoose={(kind) => change({ kind })}
      />
      <div class="fields">
        {wish.kind === 'changes' ? (
          <ChangeFields wish={wish} onChange={change} />
        ) : (
          <TopicFields wish={wish} onChange={change} />
        )}
        <Field label="Second viewer">
          <select value={other} onChange={({ currentTarget }) => setOther(currentTarget.value)}>
            <option value="">none</option>
            {roles.map((role) => (
              <option key={role} value={role}>
                {role}
              </option>
            ))}
            <option value="user">a user, by id</option>
          </select>
        </Field>
        {other === 'user' && (
          <Field label="Id of the user">
            <input required value={user} onInput={({ currentTarget }) => setUser(currentTarget.value.trim())} />
          </Field>
        )}
      </div>
      <div class="actions">
        {isRunning && <Button onClick={onStop}>Stop</Button>}
        <Button type="submit" kind="primary">
          {isRunning ? 'Subscribe again' : 'Subscribe'}
        </Button>
      </div>
    </form>
  )
}

type FieldsProps = { readonly wish: Wish; readonly onChange: (changed: Partial<Wish>) => void }

function ChangeFields({ wish, onChange }: FieldsProps) {
  const { value, error } = useLoaded((signal) => consoleApi<ConsoleSchema>('schema', { signal }), [])
  const tables = value?.relations.filter(({ kind }) => kind === 'table' || kind === 'partitioned table') ?? []
  const separator = '\u0000'
  return (
    <>
      <Problem error={error} />
      <Field label="Table">
        <select
          required
          value={wish.table === '' ? '' : wish.schema + separator + wish.table}
          onChange={({ currentTarget }) => {
            const [schema = '', table = ''] = currentTarget.value.split(separator)
            onChange({ schema, table })
          }}
        >
          <option value="">choose one</option>
          {tables.map(({ schema, name }) => (
            <option key={schema + separator + name} value={schema + separator + name}>
              {schema}.{name}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Events">
        <select value={wish.event} onChange={({ currentTarget }) => onChange({ event: currentTarget.value as '*' })}>
          <option value="*">all</option>
          <option value="INSERT">INSERT</option>
          <option value="UPDATE">UPDATE</option>
          <option value="DELETE">DELETE</option>
        </select>
      </Field>
      <Field label="Condition">
        <input
          placeholder="room_id=eq.5"
          value={wish.filter}
          onInput={({ currentTarget }) => onChange({ filter: currentTarget.value.trim() })}
        />
      </Field>
    </>
  )
}

const TopicFields = ({ wish, onChange }: FieldsProps) => (
  <>
    <Field label="Topic">
      <input
        required
        placeholder="room-1"
        value={wish.topic}
        onInput={({ currentTarget }) => onChange({ topic: currentTarget.value })}
      />
    </Field>
    <label class="private-topic">
      <input
        type="checkbox"
        checked={wish.isPrivate}
        onChange={({ currentTarget }) => onChange({ isPrivate: currentTarget.checked })}
      />{' '}
      private: policies of <code>realtime.messages</code> decide
    </label>
  </>
)
