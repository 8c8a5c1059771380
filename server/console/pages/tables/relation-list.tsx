// The list of tables and views, with what decides about their rows.
import { useState } from 'preact/hooks'
import type { ConsoleSchema, RelationSummary } from '../../../services/console/schema-protocol.ts'
import { Badge } from '../../parts.tsx'
import { href } from '../../router.ts'

type ListProps = {
  readonly schema: ConsoleSchema
  readonly chosen: string | undefined
  readonly shown: string | undefined
  readonly onShow: (schema: string | undefined) => void
}

export function RelationList({ schema, chosen, shown, onShow }: ListProps) {
  const [search, setSearch] = useState('')
  const wanted = search.trim().toLowerCase()
  const found = schema.relations.filter(({ name }) => name.toLowerCase().includes(wanted))
  const names = [...new Set(found.map((relation) => relation.schema))]
  return (
    <>
      <div class="tables-tools">
        <input
          type="search"
          aria-label="Search tables"
          placeholder="Search"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <select
          aria-label="Schemas"
          value={shown ?? ''}
          onChange={({ currentTarget: { value } }) => onShow(value === '' ? undefined : value)}
        >
          <option value="">exposed: {schema.exposed.join(', ')}</option>
          {schema.schemas
            .filter((name) => !schema.exposed.includes(name))
            .map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
        </select>
      </div>
      {names.map((name) => (
        <div key={name}>
          {names.length > 1 && <h3>{name}</h3>}
          <ul class="relations">
            {found
              .filter((relation) => relation.schema === name)
              .slice(0, maxShown)
              .map((relation) => (
                <RelationItem
                  key={relation.name}
                  relation={relation}
                  schema={schema}
                  isChosen={chosen === `${relation.schema}.${relation.name}`}
                />
              ))}
          </ul>
        </div>
      ))}
      {found.length > maxShown && <p class="faint">Search to find the others.</p>}
      {schema.isCut && <p class="faint">The database has more relations than are listed.</p>}
      {schema.relations.length === 0 && (
        <p>
          There is no table yet. <a href={href(['sql'])}>Write a migration</a>, or choose another schema.
        </p>
      )}
      {schema.relations.length > 0 && found.length === 0 && <p class="faint">No table has such a name.</p>}
    </>
  )
}

/** Maximum number of entries that are drawn of a schema. */
const maxShown = 400

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

type ItemProps = { readonly relation: RelationSummary; readonly schema: ConsoleSchema; readonly isChosen: boolean }

const RelationItem = ({ relation, schema, isChosen }: ItemProps) => (
  <li>
    <a href={href(['tables', relation.schema, relation.name])} {...(isChosen ? { 'aria-current': 'page' } : {})}>
      <span class="relation-name">{relation.name}</span>
      {relation.kind.endsWith('view') && <Badge>view</Badge>}
      <RlsBadge relation={relation} schema={schema} />
      <small class="faint">{relation.rows === null ? '' : compact.format(relation.rows)}</small>
    </a>
  </li>
)

/** Whether policies decide about rows. In red: a role that has no right to all rows may read or write all of them. */
export function RlsBadge({ relation, schema }: Pick<ItemProps, 'relation' | 'schema'>) {
  if (!relation.kind.endsWith('table') || relation.kind === 'foreign table') return null
  if (relation.hasRls) {
    return (
      <Badge kind="good" title={`Row-level security is on, with ${relation.policyCount} policies`}>
        RLS
      </Badge>
    )
  }
  const isOpen =
    schema.exposed.includes(relation.schema) &&
    schema.roles.some(({ name, bypassesRls }) => !bypassesRls && relation.access[name] !== undefined)
  return isOpen ? (
    <Badge kind="bad" title="No row-level security: these roles see and write all rows that they have privileges for">
      no RLS
    </Badge>
  ) : (
    <Badge title="No row-level security">no RLS</Badge>
  )
}
