// Dialogs that create an API key and change its limits.
import { useState } from 'preact/hooks'
import type { CreatedKey, KeyReport, KeyState, NewKey } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { FormDialog } from '../../forms.tsx'
import { Field, TextField } from '../../parts.tsx'
import { useSession } from '../../session.tsx'

type KeyFormProps = { readonly onCreated: (created: CreatedKey) => void; readonly onClose: () => void }

export function KeyForm({ onCreated, onClose }: KeyFormProps) {
  const { roles } = useSession()
  const [role, setRole] = useState(roles[0] ?? 'anon')
  const [user, setUser] = useState('')
  const [label, setLabel] = useState('')
  const [days, setDays] = useState('')
  const create = async (): Promise<void> => {
    const body: NewKey = {
      role,
      label,
      ...(role === 'authenticated' && user !== '' ? { user } : {}),
      ...(days === '' ? {} : { days: Number(days) }),
    }
    onCreated(await consoleApi<CreatedKey>('operations/keys', { method: 'POST', body }))
  }
  return (
    <FormDialog title="Create a key" action="Create" onSubmit={create} onClose={onClose}>
      <TextField label="What it is for" required maxLength={200} value={label} onText={setLabel} />
      <Field label="Acts as">
        <select value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
          {roles.map((name) => (
            <option key={name} value={name}>
              {name}
              {name === 'service_role' ? ' (bypasses all policies)' : ''}
            </option>
          ))}
        </select>
      </Field>
      {role === 'authenticated' && (
        <Field label="Id of a user, if it acts as one">
          <input value={user} onInput={({ currentTarget }) => setUser(currentTarget.value.trim())} />
        </Field>
      )}
      <TextField
        label="Days after which it expires; empty: never"
        type="number"
        min={1}
        max={3650}
        value={days}
        onText={setDays}
      />
    </FormDialog>
  )
}

type LimitsFormProps = Pick<KeyReport, 'limits'> & {
  readonly stored: KeyState
  readonly onDone: () => void
  readonly onClose: () => void
}

export function LimitsForm({ stored, limits, onDone, onClose }: LimitsFormProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(Object.entries(stored.limits ?? {}).map(([name, value]) => [name, String(value)])),
  )
  const save = async (): Promise<void> => {
    const given = Object.entries(values).filter(([, value]) => value !== '')
    await consoleApi(`operations/keys/${stored.id}/limits`, {
      method: 'PUT',
      body: { limits: Object.fromEntries(given.map(([name, value]) => [name, Number(value)])) },
    })
    onDone()
  }
  return (
    <FormDialog title={`Limits of ${stored.label}`} action="Save" onSubmit={save} onClose={onClose}>
      {limits.map(({ name, allowed }) => (
        <Field key={name} label={name}>
          <input
            type="number"
            min={0}
            step="any"
            placeholder={allowed}
            value={values[name] ?? ''}
            onInput={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
          />
        </Field>
      ))}
    </FormDialog>
  )
}
