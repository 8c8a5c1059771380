// All settings with their origin. Secrets stay on the server.
import { useState } from 'preact/hooks'
import type { SettingState } from '../../../services/console/operation-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Badge, Button, Empty, Loading, Problem, Table, useLoaded } from '../../parts.tsx'

const changes = {
  restart: 'takes effect after a restart',
  reload: 'takes effect after a reload',
  database: 'takes effect after a reload; can also be set in the database',
} as const

export function Settings() {
  const { value, error } = useLoaded(
    (signal) => consoleApi<readonly SettingState[]>('operations/settings', { signal }),
    [],
  )
  const [text, setText] = useState('')
  const [hasDefaults, setDefaults] = useState(false)
  const words = text.toLowerCase().split(/\s+/)
  const found = value?.filter(
    ({ name, description, variables, isSet, origin }) =>
      (hasDefaults || text.trim() !== '' || isSet || origin !== 'default') &&
      words.every((word) => [name, description, ...variables].some((it) => it.toLowerCase().includes(word))),
  )
  return (
    <>
      <div class="bar">
        <input
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <label>
          <input
            type="checkbox"
            checked={hasDefaults}
            onChange={({ currentTarget }) => setDefaults(currentTarget.checked)}
          />{' '}
          also those with their default
        </label>
      </div>
      <Problem error={error} />
      {!value && error === undefined && <Loading />}
      {found?.length === 0 && (
        <Empty title="No such setting">
          <Button onClick={() => setText('')}>Show those that are set</Button>
        </Empty>
      )}
      {found && found.length > 0 && (
        <Table class="settings" head={['Setting', 'Value', 'Origin']}>
          {found.map((setting) => (
            <SettingRow key={setting.name} setting={setting} />
          ))}
        </Table>
      )}
    </>
  )
}

const SettingRow = ({ setting }: { readonly setting: SettingState }) => (
  <tr>
    <td>
      <code>{setting.name}</code>
      <br />
      <small class="faint">
        {setting.description.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')} It {changes[setting.change]}.
      </small>
    </td>
    <td>
      {setting.value === null ? <Badge>hidden</Badge> : <code>{setting.value}</code>}
      {setting.isWaiting && (
        <>
          {' '}
          <Badge kind="warning" title="Another value is given than the one that is in effect">
            waits for a {setting.change === 'restart' ? 'restart' : 'reload'}
          </Badge>
        </>
      )}
    </td>
    <td>
      {setting.origin === 'default' ? (
        <span class="faint">default</span>
      ) : (
        <>
          {setting.origin === 'embedded' ? 'embedded database' : setting.origin}
          <br />
          <small>
            <code>{setting.source}</code>
          </small>
        </>
      )}
    </td>
  </tr>
)
