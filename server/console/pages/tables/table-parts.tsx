// What surrounds the grid: the number of rows, and what is shown where there are none.
import { useState } from 'preact/hooks'
import type { ConsoleSchema, RelationDetails } from '../../../services/console/schema-protocol.ts'
import type { Viewer } from '../../api.ts'
import { Badge, Button, Dialog, Empty, Loading, Problem, Snippet, Table } from '../../parts.tsx'
import type { Parameter } from '../../rest/filter.ts'
import type { Place } from '../../rest/relation.ts'
import { href } from '../../router.ts'
import { countText } from '../../values.tsx'
import { viewerLabel } from '../../viewer.tsx'
import { countRows, type Rows } from './rows.ts'

type ContentProps = {
  readonly rows: Rows
  readonly viewer: Viewer
  readonly hasFilters: boolean
  readonly hasRls: boolean
  readonly children: preact.ComponentChildren
}

export function Content({ rows, viewer, hasFilters, hasRls, children }: ContentProps) {
  if (rows.rows.length > 0) return <>{children}</>
  if (rows.isLoading) return <Loading />
  if (rows.error !== undefined) return null
  return (
    <Empty title={`${viewerLabel(viewer)} sees no row`}>
      <p>
        {hasFilters
          ? 'Remove a filter, or look as someone else.'
          : hasRls
            ? 'Policies may hide rows: show hidden rows, or look as someone else.'
            : 'Insert the first one, or import a file.'}
      </p>
    </Empty>
  )
}

type CountProps = {
  readonly place: Place
  readonly viewer: Viewer
  readonly parameters: readonly Parameter[]
  readonly estimate: number | null
}

/** An exact count reads all rows, so it is made on request. */
export function Count({ place, viewer, parameters, estimate }: CountProps) {
  const [state, setState] = useState<{ readonly count?: number; readonly error?: unknown; readonly isBusy?: boolean }>(
    {},
  )
  const count = (): void => {
    setState({ isBusy: true })
    countRows(viewer, place, parameters).then(
      (found) => setState({ count: found }),
      (error: unknown) => setState({ error }),
    )
  }
  if (state.error !== undefined) return <Problem error={state.error} />
  if (state.count !== undefined) return <Badge kind="good">{countText(state.count, 'row')}</Badge>
  return (
    <>
      {estimate !== null && <small class="faint">≈ {countText(estimate, 'row')} in all</small>}
      <Button onClick={count} {...(state.isBusy ? { isBusy: true } : {})} title="Count the rows that this viewer sees">
        Count
      </Button>
    </>
  )
}

/** Which policies the relation has, with their conditions. */
export const PoliciesDialog = ({ relation, onClose }: PoliciesProps) => (
  <Dialog title={`Policies of ${relation.name}`} isWide onClose={onClose}>
    {!relation.hasRls && (
      <p>
        <Badge kind="bad">no RLS</Badge> Row-level security is off: policies decide nothing, privileges everything.
      </p>
    )}
    {relation.hasRls && relation.policies.length === 0 && (
      <p>There is no policy, so only roles that bypass them see rows.</p>
    )}
    {relation.policies.map(({ name, command, isPermissive, roles, using, check }) => (
      <section key={name} class="card">
        <h3>{name}</h3>
        <p class="small">
          {isPermissive ? '' : 'restrictive, '}for {command.toLowerCase()} to {roles.join(', ')}
        </p>
        {using !== null && <Snippet text={`using ${using}`} />}
        {check !== null && <Snippet text={`with check ${check}`} />}
      </section>
    ))}
    <p>
      <a href={href(['policies'])}>All policies, their tests and what they miss</a>
    </p>
  </Dialog>
)

type PoliciesProps = { readonly relation: RelationDetails; readonly onClose: () => void }

type UnexposedProps = {
  readonly relation: RelationDetails | undefined
  readonly error: unknown
  readonly all: ConsoleSchema
}

/** A table that the REST API does not have: its columns and policies. */
export function Unexposed({ relation, error, all }: UnexposedProps) {
  if (!relation) return error === undefined ? <Loading /> : <Problem error={error} />
  return (
    <>
      <header class="table-head">
        <a class="back" href={href(['tables'])}>
          Tables
        </a>
        <h1>
          {relation.schema}.{relation.name}
        </h1>
      </header>
      <p>
        The schema {relation.schema} is not exposed by the REST API (it has {all.exposed.join(', ')}). Read the rows
        with <a href={href(['sql'])}>SQL</a>.
      </p>
      <Table head={['Column', 'Type', 'Comment']}>
        {relation.columns.map(({ name, type, comment }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <code>{type}</code>
            </td>
            <td>{comment}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}
