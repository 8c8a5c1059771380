// Filters and order in the words of the REST API, and the request that they make.
import { useEffect, useState } from 'preact/hooks'
import { serverUrl } from '../../api.ts'
import { Button, Copy, Snippet, Tabs } from '../../parts.tsx'
import { filterOf, operators, parameterOf, quotedName, type Parameter } from '../../rest/filter.ts'
import { readOf, type Place } from '../../rest/relation.ts'
import { curlOf, supabaseRead } from '../../rest/snippets.ts'
import { pageParameters } from './rows.ts'

type FiltersProps = {
  readonly columns: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly onChange: (parameters: readonly Parameter[]) => void
}

/** Parameters that have their own place, or are no filter. */
const isFilter = ([name]: Parameter): boolean => !['select', 'order', 'limit', 'offset'].includes(name)

/** Filters are applied when they are submitted, so that a half-typed one is not sent. */
export function Filters({ columns, parameters, onChange }: FiltersProps) {
  const given = parameters.filter(isFilter)
  const order = parameters.find(([name]) => name === 'order')?.[1] ?? ''
  const key = JSON.stringify(parameters)
  const [drafts, setDrafts] = useState(given)
  const [orderDraft, setOrder] = useState(order)
  useEffect(() => {
    setDrafts(given)
    setOrder(order)
  }, [key])
  const others = parameters.filter(([name]) => name === 'select' || name === 'limit')
  const apply = (filters: readonly Parameter[], ordering = orderDraft): void =>
    onChange([...others, ...filters, ...(ordering.trim() === '' ? [] : [['order', ordering.trim()] as const])])
  const change = (index: number, next: Parameter): void =>
    setDrafts((all) => all.map((old, at) => (at === index ? next : old)))
  const [firstColumn = 'id'] = columns
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        apply(drafts)
      }}
    >
      {drafts.map((parameter, index) => (
        <FilterRow
          key={index}
          parameter={parameter}
          columns={columns}
          onChange={(next) => change(index, next)}
          onRemove={() => apply(drafts.filter((_, at) => at !== index))}
        />
      ))}
      <div class="bar">
        <Button onClick={() => setDrafts([...drafts, [quotedName(firstColumn), 'eq.']])}>Add a filter</Button>
        <label class="order">
          <span class="faint">order</span>
          <input
            value={orderDraft}
            placeholder="id.desc, name.asc.nullslast"
            size={24}
            onInput={({ currentTarget }) => setOrder(currentTarget.value)}
          />
        </label>
        <Button type="submit" kind="primary">
          Apply
        </Button>
        {given.length + order.length > 0 && <Button onClick={() => apply([], '')}>Clear</Button>}
      </div>
    </form>
  )
}

type FilterRowProps = {
  readonly parameter: Parameter
  readonly columns: readonly string[]
  readonly onChange: (parameter: Parameter) => void
  readonly onRemove: () => void
}

function FilterRow({ parameter, columns, onChange, onRemove }: FilterRowProps) {
  const filter = filterOf(parameter)
  const remove = (
    <Button onClick={onRemove} title="Remove the filter">
      ×<span class="visually-hidden">Remove the filter</span>
    </Button>
  )
  if (!filter || !columns.includes(filter.column)) {
    const [name, value] = parameter
    return (
      <div class="filter">
        <input aria-label="Parameter" value={name} onInput={(event) => onChange([event.currentTarget.value, value])} />
        <input
          aria-label="Value"
          class="filter-value"
          value={value}
          onInput={(event) => onChange([name, event.currentTarget.value])}
        />
        {remove}
      </div>
    )
  }
  const set = (changes: Partial<typeof filter>): void => onChange(parameterOf({ ...filter, ...changes }))
  return (
    <div class="filter">
      <select
        aria-label="Column"
        value={filter.column}
        onChange={({ currentTarget }) => set({ column: currentTarget.value })}
      >
        {columns.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <label class="not">
        <input
          type="checkbox"
          checked={filter.isNegated}
          onChange={({ currentTarget }) => set({ isNegated: currentTarget.checked })}
        />
        not
      </label>
      <select
        aria-label="Operator"
        value={filter.operator}
        onChange={({ currentTarget: { value } }) =>
          set({ operator: value, ...(value === 'is' && filter.value === '' ? { value: 'null' } : {}) })
        }
      >
        {operators.map(({ name, meaning }) => (
          <option key={name} value={name}>
            {`${name} – ${meaning}`}
          </option>
        ))}
      </select>
      <input
        aria-label="Value"
        class="filter-value"
        value={filter.value}
        placeholder={operators.find(({ name }) => name === filter.operator)?.example ?? 'value'}
        onInput={({ currentTarget }) => set({ value: currentTarget.value })}
      />
      {remove}
    </div>
  )
}

type RequestProps = { readonly place: Place; readonly parameters: readonly Parameter[] }

/** The request of the page that is shown, to be copied for other clients. */
export function RequestLine({ place, parameters }: RequestProps) {
  const [isOpen, setOpen] = useState(false)
  const [form, setForm] = useState<'supabase-js' | 'curl'>('supabase-js')
  const all = pageParameters(parameters)
  const sent = readOf(place, all)
  return (
    <div class="request-line">
      <div class="request-url">
        <code tabIndex={0}>
          <b>GET</b> /{sent.path}
        </code>
        <Copy text={`${serverUrl}${sent.path}`} label="Copy URL" />
        <Button onClick={() => setOpen(!isOpen)}>{isOpen ? 'Close' : 'Code'}</Button>
      </div>
      {isOpen && (
        <>
          <Tabs
            label="Client"
            tabs={[
              { key: 'supabase-js', label: 'supabase-js' },
              { key: 'curl', label: 'curl' },
            ]}
            chosen={form}
            onChoose={setForm}
          />
          <Snippet text={form === 'curl' ? curlOf(serverUrl, sent) : supabaseRead(place, all)} />
        </>
      )}
    </div>
  )
}
