// Which requests are shown: conditions in the address of the page.
import type { RequestEntry } from '../../../services/console/request-protocol.ts'
import { go } from '../../router.ts'
import { isOfOthers } from './tail.ts'

type Name = 'text' | 'method' | 'status' | 'role' | 'slower' | 'own'

/** Whether a request fulfils the conditions. */
export function filterOf(query: URLSearchParams): (entry: RequestEntry) => boolean {
  const given = (name: Name): string => query.get(name) ?? ''
  const text = given('text').toLowerCase()
  const [method, status, role] = [given('method'), given('status'), given('role')]
  const slower = Number(given('slower'))
  const hasOwn = given('own') === 'yes'
  return (entry) =>
    (hasOwn || isOfOthers(entry)) &&
    (method === '' || entry.method === method) &&
    (status === '' || String(entry.status).startsWith(status)) &&
    (role === '' || entry.role === role) &&
    !(entry.duration < slower) &&
    (text === '' || [entry.path, entry.route ?? '', entry.requestId].some((it) => it.toLowerCase().includes(text)))
}

type FiltersProps = { readonly query: URLSearchParams; readonly entries: readonly RequestEntry[] }

export function Filters({ query, entries }: FiltersProps) {
  const set = (name: Name, value: string): void => {
    const next = new URLSearchParams(query)
    if (value === '') next.delete(name)
    else next.set(name, value)
    go(['requests'], next, { replace: true })
  }
  const choice = (name: Name, label: string, values: readonly (readonly [string, string])[]) => (
    <select
      aria-label={label}
      value={query.get(name) ?? ''}
      onChange={({ currentTarget }) => set(name, currentTarget.value)}
    >
      <option value="">{label}: all</option>
      {values.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
  const distinct = (values: readonly (string | null)[], chosen: Name): readonly (readonly [string, string])[] =>
    [...new Set([...values, query.get(chosen)])]
      .filter((it) => it !== null && it !== '')
      .toSorted()
      .map((it) => [String(it), String(it)])
  return (
    <>
      <input
        type="search"
        aria-label="Search path or request id"
        placeholder="Path or request id"
        value={query.get('text') ?? ''}
        onInput={({ currentTarget }) => set('text', currentTarget.value)}
      />
      {choice(
        'method',
        'Method',
        distinct(
          entries.map(({ method }) => method),
          'method',
        ),
      )}
      {choice('status', 'Status', [
        ['2', '2xx success'],
        ['3', '3xx redirect'],
        ['4', '4xx client error'],
        ['5', '5xx server error'],
      ])}
      {choice(
        'role',
        'Role',
        distinct(
          entries.map(({ role }) => role),
          'role',
        ),
      )}
      <label class="slower">
        slower than{' '}
        <input
          type="number"
          min={0}
          value={query.get('slower') ?? ''}
          onInput={({ currentTarget }) => set('slower', currentTarget.value)}
        />{' '}
        ms
      </label>
      <label>
        <input
          type="checkbox"
          checked={query.get('own') === 'yes'}
          onChange={({ currentTarget }) => set('own', currentTarget.checked ? 'yes' : '')}
        />{' '}
        the console’s own
      </label>
    </>
  )
}
