// Which calls are shown: conditions in the address of the page.
import { useEffect, useState } from 'preact/hooks'
import type { CallsQuery, WebhookEntry } from '../../../services/console/webhook-protocol.ts'
import { go, routeOf } from '../../router.ts'

export type CallFilter = Pick<CallsQuery, 'state' | 'webhook' | 'text'>

const states = { waiting: 'waiting', delivered: 'delivered', dead: 'put aside' } as const
type State = keyof typeof states

const isState = (text: string | null): text is State => text !== null && Object.hasOwn(states, text)

export function filterOf(query: URLSearchParams): CallFilter {
  const state = query.get('state')
  const webhook = query.get('webhook') ?? ''
  const text = query.get('text') ?? ''
  return {
    ...(isState(state) ? { state } : {}),
    ...(webhook === '' ? {} : { webhook }),
    ...(text === '' ? {} : { text }),
  }
}

/** That of the address, which may be newer than what is drawn. */
const currentFilter = (): CallFilter => filterOf(routeOf(location.hash).query)

type FiltersProps = { readonly filter: CallFilter; readonly webhooks: readonly WebhookEntry[] }

/** Milliseconds after which a typed text is searched for. */
const typingTime = 300

export function CallFilters({ filter, webhooks }: FiltersProps) {
  const [text, setText] = useState(filter.text ?? '')
  const set = (name: keyof CallFilter, value: string): void => {
    const next = new URLSearchParams(currentFilter())
    if (value === '') next.delete(name)
    else next.set(name, value)
    go(['webhooks', 'calls'], next, { replace: true })
  }
  useEffect(() => setText(filter.text ?? ''), [filter.text])
  useEffect(() => {
    if (text === (filter.text ?? '')) return undefined
    const timer = setTimeout(() => {
      // What has removed or replaced the text meanwhile is newer.
      if (currentFilter().text === filter.text) set('text', text)
    }, typingTime)
    return () => clearTimeout(timer)
  }, [text])
  // A webhook that was dropped has left calls.
  const names = [
    ...new Set([...webhooks.map(({ name }) => name), ...(filter.webhook === undefined ? [] : [filter.webhook])]),
  ]
  return (
    <>
      <select
        aria-label="State"
        value={filter.state ?? ''}
        onChange={({ currentTarget }) => set('state', currentTarget.value)}
      >
        <option value="">State: all</option>
        {Object.entries(states).map(([state, label]) => (
          <option key={state} value={state}>
            {label}
          </option>
        ))}
      </select>
      <select
        aria-label="Webhook"
        value={filter.webhook ?? ''}
        onChange={({ currentTarget }) => set('webhook', currentTarget.value)}
      >
        <option value="">Webhook: all</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <input
        type="search"
        aria-label="Search host or path"
        placeholder="Host or path"
        maxLength={200}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </>
  )
}
