// The rows of one table or view, as the viewer.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ConsoleSchema, RelationDetails } from '../../../services/console/schema-protocol.ts'
import { ApiProblem, consoleApi, type Viewer } from '../../api.ts'
import { Button, Problem, useLoaded } from '../../parts.tsx'
import { LookAsServiceRole } from '../../read-problem.tsx'
import { orderOf, orderText, type Parameter } from '../../rest/filter.ts'
import { keyText, type Place } from '../../rest/relation.ts'
import { go, href, useRoute } from '../../router.ts'
import { useSession } from '../../session.tsx'
import { countText } from '../../values.tsx'
import { useViewer, viewerLabel } from '../../viewer.tsx'
import { CellEditor } from './cell-editor.tsx'
import { Filters, RequestLine } from './filter-bar.tsx'
import { gridColumns } from './grid-columns.ts'
import { Grid } from './grid.tsx'
import { RlsBadge } from './relation-list.tsx'
import { Refusal } from './refusal.tsx'
import { useRefusedValues } from './refused-values.ts'
import { maxRows, useRows } from './rows.ts'
import { TableDialogs, type Shown } from './table-dialogs.tsx'
import { Content, Count, Unexposed } from './table-parts.tsx'
import { ExportButtons } from './transfer.tsx'
import { deleteRows, updateRow, WriteRefused } from './writes.ts'

type Props = {
  readonly schema: string
  readonly name: string
  readonly isHiddenShown: boolean
  readonly all: ConsoleSchema
  /** Called when the number of rows has changed. */
  readonly onChanged: () => void
}

export function TableView({ schema, name, isHiddenShown, all, onChanged }: Props) {
  const session = useSession()
  const { viewer } = useViewer()
  const { query } = useRoute()
  const details = useLoaded(
    () =>
      consoleApi<RelationDetails>(
        `schema/relation?schema=${encodeURIComponent(schema)}&name=${encodeURIComponent(name)}`,
      ),
    [schema, name],
  )
  const text = query.toString()
  const parameters = useMemo((): readonly Parameter[] => [...query], [text])
  const place: Place = { restPath: session.restPath, schema, name, isDefault: all.exposed[0] === schema }
  const isExposed = all.exposed.includes(schema)
  if (!isExposed) return <Unexposed relation={details.value} error={details.error} all={all} />
  return (
    <TableRows
      // Never shows the rows of another viewer, not even while its own are loaded.
      key={JSON.stringify(viewer)}
      place={place}
      viewer={viewer}
      relation={details.value}
      detailsError={details.error}
      parameters={parameters}
      isHiddenShown={isHiddenShown}
      all={all}
      onChanged={onChanged}
    />
  )
}

type RowsProps = {
  readonly place: Place
  readonly viewer: Viewer
  readonly relation: RelationDetails | undefined
  readonly detailsError: unknown
  readonly parameters: readonly Parameter[]
  readonly isHiddenShown: boolean
  readonly all: ConsoleSchema
  readonly onChanged: () => void
}

function TableRows({ place, viewer, relation, detailsError, parameters, isHiddenShown, all, onChanged }: RowsProps) {
  const { roles } = useSession()
  const isAll = viewer.kind === 'role' && all.roles.some(({ name, bypassesRls }) => name === viewer.role && bypassesRls)
  const mayShowHidden = !isAll && roles.includes('service_role') && (relation?.primaryKey.length ?? 0) > 0
  const withHidden = isHiddenShown && mayShowHidden
  const rows = useRows({ place, viewer, parameters, hiddenIn: withHidden ? relation : undefined })
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set())
  const [error, setError] = useState<unknown>()
  const refusedValues = useRefusedValues(relation)
  const [shown, setShown] = useState<Shown>()
  const [chosenOpen, setFiltersOpen] = useState<boolean>()
  const filtersOpen = chosenOpen ?? parameters.length > 0
  useEffect(() => {
    setSelected(new Set())
    setError(undefined)
    refusedValues.giveUpAll()
  }, [JSON.stringify([viewer, parameters, withHidden])])

  const path = ['tables', place.schema, place.name]
  const open = (next: readonly Parameter[], hidden = isHiddenShown): void =>
    go(hidden ? [...path, 'hidden'] : path, new URLSearchParams(next.map(([name, value]) => [name, value])))
  const order = orderOf(parameters.find(([name]) => name === 'order')?.[1] ?? null)
  const reorder = (column: string): void => {
    const others = parameters.filter(([name]) => name !== 'order')
    if (order?.column !== column) open([...others, ['order', orderText({ column, isDescending: false })]])
    else if (!order.isDescending) open([...others, ['order', orderText({ column, isDescending: true })]])
    else open(others)
  }
  const columns = gridColumns(relation, rows.rows[0]?.cells)
  const target = relation && { viewer, place, relation }
  const save = async (index: number, column: string, json: string): Promise<void> => {
    const row = rows.rows[index]
    if (!row || !target) return
    setError(undefined)
    const stored = await updateRow(target, row.cells, new Map([[column, json]]))
    rows.replace(index, new Map([...row.cells, ...stored]))
    refusedValues.giveUp(row.cells, column)
  }
  const chosen = [...selected].flatMap((index) => rows.rows[index] ?? []).filter((row) => !row.isHidden)
  const remove = async (): Promise<void> => {
    if (!target) return
    const deleted = await deleteRows(
      target,
      chosen.map(({ cells }) => cells),
    )
    const keys = new Set(deleted.map((row) => keyText(target.relation, row)))
    rows.remove(({ cells }) => keys.has(keyText(target.relation, cells)))
    setSelected(new Set())
    onChanged()
    if (keys.size < chosen.length) {
      setError(
        new Error(`${keys.size} of ${chosen.length} rows were deleted: no policy lets this viewer delete the others.`),
      )
    }
  }
  const summary = all.relations.find((it) => it.schema === place.schema && it.name === place.name)
  return (
    <div class="table-view">
      <header class="table-head">
        <a class="back" href={href(['tables'])}>
          Tables
        </a>
        <h1>{place.name}</h1>
        {summary && <RlsBadge relation={summary} schema={all} />}
        <Count
          key={JSON.stringify([viewer, parameters])}
          {...{ place, viewer, parameters }}
          estimate={summary?.rows ?? null}
        />
        {relation && !relation.kind.endsWith('view') && (
          <Button onClick={() => setShown({ kind: 'policies' })}>Policies ({relation.policies.length})</Button>
        )}
      </header>
      <div class="bar">
        <Button onClick={() => setFiltersOpen(!filtersOpen)}>
          {parameters.length === 0 ? 'Filter' : `Filter (${parameters.length})`}
        </Button>
        {relation?.isInsertable && (
          <Button kind="primary" onClick={() => setShown({ kind: 'insert' })}>
            Insert
          </Button>
        )}
        {chosen.length > 0 && relation && relation.isDeletable && relation.primaryKey.length > 0 && (
          <Button kind="danger" onClick={() => setShown({ kind: 'delete' })}>
            Delete {chosen.length}
          </Button>
        )}
        {selected.size === 1 && chosen[0] && (
          <Button onClick={() => setShown({ kind: 'row', row: chosen[0]?.cells ?? new Map<string, string>() })}>
            Open row
          </Button>
        )}
        {relation?.isInsertable && <Button onClick={() => setShown({ kind: 'import' })}>Import</Button>}
        <span class="group" role="group" aria-label="Export">
          <ExportButtons {...{ viewer, place, parameters }} onError={setError} />
        </span>
        <Button onClick={rows.reload} isBusy={rows.isLoading}>
          Reload
        </Button>
        {mayShowHidden && (
          <label class="switch">
            <input
              type="checkbox"
              checked={withHidden}
              onChange={({ currentTarget }) => open(parameters, currentTarget.checked)}
            />{' '}
            Show hidden rows
          </label>
        )}
      </div>
      {filtersOpen && (
        <Filters columns={columns.map(({ name }) => name)} parameters={parameters} onChange={(next) => open(next)} />
      )}
      <RequestLine place={place} parameters={parameters} />
      {withHidden && (
        <p class="faint small">
          Grey rows are read with the role service_role. {viewerLabel(viewer)} does not see them: click one to see why.
        </p>
      )}
      <Problem error={detailsError ?? rows.error} />
      {rows.error instanceof ApiProblem && (
        <p class="bar">
          <Button onClick={() => setShown({ kind: 'refused' })}>Explain</Button>
          <LookAsServiceRole />
        </p>
      )}
      {rows.refusal !== undefined && <Problem error={rows.refusal} />}
      {error !== undefined && (
        <div class="write-error">
          <Refusal error={error} />
          <Button onClick={() => setError(undefined)}>Dismiss</Button>
        </div>
      )}
      <Content rows={rows} viewer={viewer} hasFilters={parameters.length > 0} hasRls={relation?.hasRls === true}>
        <Grid
          label={`Rows of ${place.name}`}
          columns={columns}
          rows={rows.rows}
          order={order}
          selected={selected}
          onSelect={setSelected}
          onOrder={reorder}
          onEnd={rows.hasMore ? rows.loadMore : () => undefined}
          onHidden={({ cells }) => setShown({ kind: 'hidden', row: cells })}
          onOpen={(index) => {
            const row = rows.rows[index]
            if (row && relation) setShown({ kind: 'row', row: row.cells })
          }}
          refusedIn={({ cells }, { name }) => refusedValues.of(cells, name)}
          onGiveUp={({ cells }, { name }) => refusedValues.giveUp(cells, name)}
          editor={(index, { details, name }, close) => {
            const cells = rows.rows[index]?.cells
            if (!details || !cells) return undefined
            return (
              <CellEditor
                column={details}
                json={cells.get(name)}
                refused={refusedValues.of(cells, name)?.json}
                onSave={(json) => save(index, name, json)}
                onRefused={(json, problem) => {
                  setError(problem)
                  refusedValues.keep(cells, name, json, problem)
                }}
                onGiveUp={() => refusedValues.giveUp(cells, name)}
                onClose={close}
              />
            )
          }}
        />
      </Content>
      <p class="table-foot faint small" role="status">
        {countText(rows.rows.length, 'row')} loaded
        {rows.time !== undefined && !rows.isLoading && ` in ${Math.round(rows.time)} ms`}
        {withHidden && `, ${rows.rows.filter(({ isHidden }) => isHidden).length} of them hidden`}
        {rows.isLoading ? ', loading …' : rows.rows.length >= maxRows ? '. Filter to find the others.' : '.'}
        {rows.rows.length > 0 &&
          ' Enter edits, Escape gives the stored value, Space selects, Ctrl+Enter follows a reference, Ctrl+C copies.'}
      </p>
      {shown && (
        <TableDialogs
          {...{ shown, place, viewer, parameters }}
          relation={relation}
          chosen={chosen.length}
          onRemove={() => remove().catch(refused(setError))}
          onAdded={() => {
            rows.reload()
            onChanged()
          }}
          onClose={() => setShown(undefined)}
        />
      )}
    </div>
  )
}

/** Shows a refused write on the page, where it can be explained. Other errors stay in the dialog. */
const refused =
  (show: (error: unknown) => void) =>
  (error: unknown): void => {
    if (!(error instanceof WriteRefused)) throw error
    show(error)
  }
