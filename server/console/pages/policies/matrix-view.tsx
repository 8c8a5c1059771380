// The matrix of relations, roles and commands, with what lets each through.
import { useState } from 'preact/hooks'
import type { CheckReport, MatrixRelation, SqlCommand } from '../../../services/console/policy-protocol.ts'
import { Badge, Dialog, Empty, Snippet, Table } from '../../parts.tsx'
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { identifier } from '../../../text/sql-text.ts'
import { commands, conditionsOf, passageOf, type Passage } from './matrix.ts'

/** Relations that are drawn at first. */
const firstRelations = 50

type Chosen = { readonly relation: MatrixRelation; readonly role: string; readonly command: SqlCommand }

export function Matrix({ report: { relations } }: { readonly report: CheckReport }) {
  const [text, setText] = useState('')
  const [limit, setLimit] = useState(firstRelations)
  const [chosen, setChosen] = useState<Chosen>()
  const found = relations.filter(({ schema, name }) => `${schema}.${name}`.includes(text.trim().toLowerCase()))
  if (relations.length === 0) {
    return (
      <Empty title="No table is exposed">
        <p>
          <a href={href(['sql'])}>Create a table</a> in an exposed schema, and grant a role something on it.
        </p>
      </Empty>
    )
  }
  return (
    <>
      <div class="bar">
        <input
          type="search"
          aria-label="Find a table"
          placeholder="Find a table"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <span class="faint small legend">
          <Passing passage={{ kind: 'all', reason: '', isOfColumns: false, policies: [] }} /> every row{' '}
          <Passing passage={{ kind: 'some', reason: '', isOfColumns: false, policies: [] }} /> rows of policies{' '}
          <Passing passage={{ kind: 'refused', reason: '', isOfColumns: false, policies: [] }} /> privilege, but no
          policy
        </span>
      </div>
      {found.slice(0, limit).map((relation) => (
        <RelationCard
          key={`${relation.schema}.${relation.name}`}
          relation={relation}
          onChoose={(role, command) => setChosen({ relation, role, command })}
        />
      ))}
      {found.length === 0 && <p class="faint">No table has such a name.</p>}
      {found.length > limit && (
        <button type="button" class="button" onClick={() => setLimit(limit + firstRelations)}>
          Show more of {found.length}
        </button>
      )}
      {chosen && <PassageDialog chosen={chosen} onClose={() => setChosen(undefined)} />}
    </>
  )
}

type CardProps = {
  readonly relation: MatrixRelation
  readonly onChoose: (role: string, command: SqlCommand) => void
}

function RelationCard({ relation, onChoose }: CardProps) {
  const { schema, name, kind, rls, roles, risks } = relation
  const shown = roles.filter(({ grants }) => commands.some((command) => grants[command] !== null))
  return (
    <section class="card matrix" aria-label={`${schema}.${name}`}>
      <h2>
        <span class="faint">{schema}.</span>
        {name} {kind !== 'table' && <Badge>{kind}</Badge>}{' '}
        {kind === 'table' && (
          <Badge kind={rls ? 'good' : shown.length > 0 ? 'bad' : 'plain'}>{rls ? 'RLS' : 'no RLS'}</Badge>
        )}
      </h2>
      {risks.map((risk) => (
        <p key={risk} class="small risk">
          {risk}
        </p>
      ))}
      {shown.length === 0 ? (
        <p class="faint small">No role of requests has a privilege.</p>
      ) : (
        <Table head={['role', ...commands]}>
          {shown.map((role) => (
            <tr key={role.name}>
              <th scope="row">{role.name}</th>
              {commands.map((command) => {
                const passage = passageOf(relation, role, command)
                return (
                  <td key={command}>
                    {passage.kind === 'none' ? (
                      <span class="faint" title="No privilege">
                        —
                      </span>
                    ) : (
                      <button type="button" class="cell" onClick={() => onChoose(role.name, command)}>
                        <Passing passage={passage} /> {cellText(passage)}
                      </button>
                    )}
                  </td>
                )
              })}
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

const signs = {
  none: '—',
  all: '●',
  some: '◐',
  refused: '○',
  owner: '●',
} as const satisfies Record<Passage['kind'], string>

const Passing = ({ passage: { kind } }: { readonly passage: Passage }) => (
  <span class={`passing ${kind}`} aria-hidden="true">
    {signs[kind]}
  </span>
)

function cellText({ kind, policies, reason, isOfColumns }: Passage): string {
  const columns = isOfColumns ? ' (some columns)' : ''
  switch (kind) {
    case 'refused':
      return `no rows${columns}`
    case 'some':
      return (policies.length === 0 ? 'by its tables' : policies.map(({ name }) => name).join(', ')) + columns
    case 'all':
      return `all rows${columns}`
    default:
      return reason + columns
  }
}

function PassageDialog({ chosen, onClose }: { readonly chosen: Chosen; readonly onClose: () => void }) {
  const { restPath } = useSession()
  const { relation, role: name, command } = chosen
  const role = relation.roles.find((it) => it.name === name)
  if (!role) return null
  const passage = passageOf(relation, role, command)
  const { kind, reason, policies } = passage
  const table = `${relation.schema}.${relation.name}`
  return (
    <Dialog title={`${name}: ${command} on ${table}`} onClose={onClose} isWide>
      <p>
        {kind === 'all' && `Every row: ${reason}.`}
        {kind === 'owner' && `The view ${reason}.`}
        {kind === 'refused' && 'The role has the privilege, but no policy allows a row.'}
        {kind === 'some' &&
          (policies.length === 0
            ? `Rows ${reason}.`
            : 'Rows for which a permissive policy is true, and all restrictive ones:')}
      </p>
      <ul class="policies">
        {policies.map((policy) => (
          <li key={policy.name}>
            <strong>{policy.name}</strong> {!policy.permissive && <Badge kind="warning">restrictive</Badge>}{' '}
            <span class="faint small">
              for {policy.command}, to {policy.roles.join(', ')}
            </span>
            {conditionsOf(policy, command).map(([label, condition]) => (
              <Snippet key={label} text={`${label} (${condition})`} />
            ))}
          </li>
        ))}
      </ul>
      <div class="actions">
        <a class="button" href={href(['sql'], { sql: policySql(relation, policies[0]?.name) })}>
          Change it in SQL
        </a>
        <a
          class="button primary"
          href={href(['explain'], {
            request: requestFor(command, `${restPath === '/' ? '' : restPath}/${encodeURIComponent(relation.name)}`),
            role: name,
          })}
        >
          Explain a request
        </a>
      </div>
    </Dialog>
  )
}

const methods = { select: 'GET', insert: 'POST', update: 'PATCH', delete: 'DELETE' } as const

/** A request that the command is for. Writes name no row: people add it. */
const requestFor = (command: SqlCommand, path: string): string =>
  command === 'insert' ? `POST ${path}` : `${methods[command]} ${path}?limit=10`

function policySql({ schema, name, policies }: MatrixRelation, chosen: string | undefined): string {
  const table = `${identifier(schema)}.${identifier(name)}`
  const policy = policies.find((it) => it.name === chosen)
  if (!policy) return `create policy own_rows on ${table} to authenticated\n  using (owner = (select auth.uid()));`
  const using = policy.using === null ? '' : `\n  using (${policy.using})`
  const check = policy.check === null ? '' : `\n  with check (${policy.check})`
  return `alter policy ${identifier(policy.name)} on ${table}${using}${check};`
}
