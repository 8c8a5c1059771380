// The REST API of this database: each table and function with its types, and requests to try.
import { useState } from 'preact/hooks'
import type { ConsoleSchema } from '../../../services/console/schema-protocol.ts'
import { consoleApi, serverUrl } from '../../api.ts'
import { Empty, Loading, Problem, useLoaded } from '../../parts.tsx'
import { href, useRoute } from '../../router.ts'
import { RelationPage } from './relation-page.tsx'
import { RoutinePage } from './routine-page.tsx'
import { TypesPage } from './types.tsx'

export default function Api() {
  const { path } = useRoute()
  const [, kind, schema, name] = path
  const { value, error } = useLoaded(() => consoleApi<ConsoleSchema>('schema'), [])
  const isChosen = kind !== undefined
  return (
    <div class={isChosen ? 'tables has-table' : 'tables'}>
      <aside aria-label="Tables and functions">
        {!isChosen && <h1 class="visually-hidden">API</h1>}
        <Problem error={error} />
        {value ? <Names schema={value} chosen={path.slice(1).join('/')} /> : error === undefined && <Loading />}
      </aside>
      <section class="api">{value && <Chosen all={value} kind={kind} schema={schema} name={name} />}</section>
    </div>
  )
}

type ChosenProps = {
  readonly all: ConsoleSchema
  readonly kind: string | undefined
  readonly schema: string | undefined
  readonly name: string | undefined
}

function Chosen({ all, kind, schema, name }: ChosenProps) {
  if (kind === 'types') return <TypesPage all={all} />
  if (schema !== undefined && name !== undefined) {
    const key = `${kind}/${schema}/${name}`
    if (kind === 'table') return <RelationPage key={key} all={all} schema={schema} name={name} />
    const routines = all.routines.filter((it) => it.schema === schema && it.name === name)
    if (kind === 'function' && routines.length > 0) return <RoutinePage key={key} all={all} routines={routines} />
  }
  if (kind !== undefined) return <Empty title="There is no such table or function" />
  return (
    <Empty title="Choose a table or a function">
      <p>
        Every table and function of the exposed schemas has an address. The other services are in the{' '}
        <a href={`${serverUrl}docs/`}>API reference</a>.
      </p>
    </Empty>
  )
}

type NamesProps = { readonly schema: ConsoleSchema; readonly chosen: string }

/** Maximum number of entries that are drawn of each kind. */
const maxShown = 400

function Names({ schema, chosen }: NamesProps) {
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const matching = <T extends { readonly name: string }>(items: readonly T[]): readonly T[] =>
    items.filter(({ name }) => name.toLowerCase().includes(wanted))
  // Those of the same name have one page.
  const functions = matching([
    ...new Map(schema.routines.map((routine) => [`${routine.schema}.${routine.name}`, routine])).values(),
  ])
  const groups = [
    { kind: 'table', title: 'Tables and views', items: matching(schema.relations) },
    { kind: 'function', title: 'Functions', items: functions },
  ]
  return (
    <>
      <div class="tables-tools">
        <input
          type="search"
          aria-label="Search tables and functions"
          placeholder="Search"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </div>
      <ul class="relations">
        <li>
          <a href={href(['api', 'types'])} {...(chosen === 'types' ? { 'aria-current': 'page' } : {})}>
            TypeScript types
          </a>
        </li>
      </ul>
      {groups.map(({ kind, title, items }) => (
        <div key={kind}>
          <h3>{title}</h3>
          <ul class="relations">
            {items.slice(0, maxShown).map(({ schema: of, name }) => (
              <li key={`${of}.${name}`}>
                <a
                  href={href(['api', kind, of, name])}
                  {...(chosen === `${kind}/${of}/${name}` ? { 'aria-current': 'page' } : {})}
                >
                  <span class="relation-name">{of === schema.exposed[0] ? name : `${of}.${name}`}</span>
                </a>
              </li>
            ))}
          </ul>
          {items.length === 0 && <p class="faint small">None with such a name.</p>}
          {items.length > maxShown && <p class="faint small">Search to find the others.</p>}
        </div>
      ))}
    </>
  )
}
