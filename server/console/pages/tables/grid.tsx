// A grid of any number of rows: only those that are in view are drawn. Arrow keys move, Enter edits, Escape gives the stored value, Ctrl+C copies.
// https://www.w3.org/WAI/ARIA/apg/patterns/grid/
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { isNull, textOf } from '../../rest/cells.ts'
import type { Order } from '../../rest/filter.ts'
import { toggled } from '../../values.tsx'
import { widthOf, type GridColumn } from './grid-columns.ts'
import type { RefusedValue } from './refused-values.ts'
import type { GridRow } from './rows.ts'

type Position = { readonly row: number; readonly column: number }

type Props = {
  readonly label: string
  readonly columns: readonly GridColumn[]
  readonly rows: readonly GridRow[]
  readonly order: Order | undefined
  readonly selected: ReadonlySet<number>
  readonly onSelect: (selected: ReadonlySet<number>) => void
  readonly onOrder: (column: string) => void
  readonly onEnd: () => void
  /** Called for a click on a hidden row. */
  readonly onHidden: (row: GridRow) => void
  readonly onOpen: (row: number) => void
  /** What was typed in a cell and refused. */
  readonly refusedIn: (row: GridRow, column: GridColumn) => RefusedValue | undefined
  /** Called for Escape on a cell: its stored value is shown again. */
  readonly onGiveUp: (row: GridRow, column: GridColumn) => void
  /** The editor of a cell. `close` ends it; with a direction, the neighbour is edited next. */
  readonly editor: (row: number, column: GridColumn, close: (move?: 1 | -1) => void) => ComponentChildren
}

const rowHeight = 30
const overscan = 8
const firstWidth = 52
const narrowest = 60

export function Grid(props: Props) {
  const { label, columns, rows, order, selected } = props
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const [active, setActive] = useState<Position>({ row: 0, column: 0 })
  const [isEditing, setEditing] = useState(false)
  const [widths, setWidths] = useState<ReadonlyMap<string, number>>(new Map())
  const at: Position = {
    row: Math.max(0, Math.min(active.row, rows.length - 1)),
    column: Math.max(0, Math.min(active.column, columns.length - 1)),
  }
  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan)
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + overscan)
  const columnWidths = columns.map((column) => widths.get(column.name) ?? widthOf(column))
  const template = `${firstWidth}px ${columnWidths.map((width) => `${width}px`).join(' ')}`
  const total = columnWidths.reduce((sum, width) => sum + width, firstWidth)

  useLayoutEffect(() => {
    const grid = box.current
    if (!grid) return undefined
    const measure = (): void => setView({ top: grid.scrollTop, height: grid.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(grid)
    measure()
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (last >= rows.length - overscan) props.onEnd()
  }, [last, rows.length])

  const show = ({ row, column }: Position): void => {
    const grid = box.current
    if (!grid) return
    const top = row * rowHeight
    if (top < grid.scrollTop) grid.scrollTop = top
    else if (top + 2 * rowHeight > grid.scrollTop + grid.clientHeight) {
      grid.scrollTop = top + 2.5 * rowHeight - grid.clientHeight
    }
    const left = firstWidth + columnWidths.slice(0, column).reduce((sum, width) => sum + width, 0)
    const width = columnWidths[column] ?? 0
    if (left - firstWidth < grid.scrollLeft) grid.scrollLeft = left - firstWidth
    else if (left + width > grid.scrollLeft + grid.clientWidth) grid.scrollLeft = left + width - grid.clientWidth
  }
  const moveTo = (row: number, column: number): void => {
    const next = {
      row: Math.max(0, Math.min(row, rows.length - 1)),
      column: Math.max(0, Math.min(column, columns.length - 1)),
    }
    setActive(next)
    show(next)
  }
  const edit = (): void => {
    const row = rows[at.row]
    if (row?.isHidden) props.onHidden(row)
    else if (columns[at.column]?.isEditable) setEditing(true)
    else props.onOpen(at.row)
  }
  const close = (move?: 1 | -1): void => {
    setEditing(false)
    box.current?.focus()
    if (move === undefined) return
    const next = at.column + move
    if (next < 0 || next >= columns.length) return
    moveTo(at.row, next)
    if (columns[next]?.isEditable) setEditing(true)
  }
  const pageRows = Math.max(1, Math.floor(view.height / rowHeight) - 2)
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => moveTo(at.row + 1, at.column),
    ArrowUp: () => moveTo(at.row - 1, at.column),
    ArrowLeft: () => moveTo(at.row, at.column - 1),
    ArrowRight: () => moveTo(at.row, at.column + 1),
    PageDown: () => moveTo(at.row + pageRows, at.column),
    PageUp: () => moveTo(at.row - pageRows, at.column),
    Home: () => moveTo(at.row, 0),
    End: () => moveTo(at.row, columns.length - 1),
    Enter: edit,
    F2: edit,
    ' ': () => toggle(at.row),
    Escape: () => {
      const [row, column] = [rows[at.row], columns[at.column]]
      if (row && column) props.onGiveUp(row, column)
    },
  }
  const toggle = (row: number): void => props.onSelect(toggled(selected, row))
  const onKeyDown = (event: KeyboardEvent): void => {
    if (isEditing || event.target !== box.current) return
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'c') {
      const { name = '', details } = columns[at.column] ?? {}
      void navigator.clipboard.writeText(textOf(rows[at.row]?.cells.get(name), details))
      event.preventDefault()
      return
    }
    if ((event.ctrlKey || event.metaKey) && event.key === 'Enter') {
      const row = rows[at.row]
      const link = row && columns[at.column]?.linkOf?.(row)
      if (link !== undefined) location.hash = link
      return
    }
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }
  const resize = (column: GridColumn, index: number, event: PointerEvent): void => {
    event.preventDefault()
    event.stopPropagation()
    const start = event.clientX
    const before = columnWidths[index] ?? narrowest
    const handle = event.currentTarget as HTMLElement
    handle.setPointerCapture(event.pointerId)
    handle.onpointermove = ({ clientX }) =>
      setWidths((known) => new Map(known).set(column.name, Math.max(narrowest, before + clientX - start)))
    handle.onpointerup = () => (handle.onpointermove = handle.onpointerup = null)
  }

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      {...(rows.length > 0 && at.row >= first && at.row < last
        ? { 'aria-activedescendant': `cell-${at.row}-${at.column}` }
        : {})}
      onScroll={({ currentTarget }) => setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" class="grid-head" style={{ minWidth: `${total}px` }}>
        <div role="row" class="grid-row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
          <div role="columnheader" class="grid-number">
            <span class="visually-hidden">Row</span>
          </div>
          {columns.map((column, index) => {
            const isOrdered = order?.column === column.name
            return (
              <div
                role="columnheader"
                key={column.name}
                class="grid-header"
                title={headerTitle(column)}
                {...(isOrdered ? { 'aria-sort': order.isDescending ? 'descending' : 'ascending' } : {})}
              >
                <button type="button" tabIndex={-1} onClick={() => props.onOrder(column.name)}>
                  {column.isKey && <span class="key-mark" title="Primary key" />}
                  <b>{column.name}</b>
                  <small>{column.details?.type ?? ''}</small>
                  {isOrdered && <span aria-hidden="true">{order.isDescending ? '↓' : '↑'}</span>}
                </button>
                <span class="grid-resize" onPointerDown={(event) => resize(column, index, event)} />
              </div>
            )
          })}
        </div>
      </div>
      <div role="rowgroup" class="grid-body" style={{ height: `${rows.length * rowHeight}px`, minWidth: `${total}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const index = first + offset
          return (
            <div
              role="row"
              key={index}
              class={`grid-row${row.isHidden ? ' is-hidden' : ''}${selected.has(index) ? ' is-selected' : ''}`}
              aria-rowindex={index + 2}
              aria-selected={selected.has(index)}
              style={{ gridTemplateColumns: template, transform: `translateY(${index * rowHeight}px)` }}
            >
              <div
                role="rowheader"
                class="grid-number"
                title={row.isHidden ? 'Hidden from this viewer. Click to see why.' : 'Select'}
                onClick={() => (row.isHidden ? props.onHidden(row) : toggle(index))}
              >
                {row.isHidden ? 'hidden' : index + 1}
              </div>
              {columns.map((column, columnIndex) => {
                const isActive = at.row === index && at.column === columnIndex
                const refused = props.refusedIn(row, column)
                const json = refused ? refused.json : row.cells.get(column.name)
                const link = column.linkOf?.(row)
                return (
                  <div
                    role="gridcell"
                    key={column.name}
                    id={`cell-${index}-${columnIndex}`}
                    class={cellClass(column, json, isActive)}
                    aria-readonly={!column.isEditable}
                    {...(refused ? { 'aria-invalid': true, title: `Not stored: ${refused.message}` } : {})}
                    onClick={() => {
                      setActive({ row: index, column: columnIndex })
                      if (!isActive) setEditing(false)
                      if (row.isHidden) props.onHidden(row)
                    }}
                    onDblClick={edit}
                  >
                    {isActive && isEditing && !row.isHidden ? (
                      props.editor(index, column, close)
                    ) : (
                      <>
                        <span>{isNull(json) ? 'null' : textOf(json, column.details).slice(0, 300)}</span>
                        {link !== undefined && (
                          <a href={link} tabIndex={-1} title="Open the row that it refers to" aria-label="Open">
                            →
                          </a>
                        )}
                      </>
                    )}
                  </div>
                )
              })}
            </div>
          )
        })}
      </div>
    </div>
  )
}

const headerTitle = ({ name, details }: GridColumn): string =>
  [name, details?.type, details?.comment].filter(Boolean).join('\n')

function cellClass({ details }: GridColumn, json: string | undefined, isActive: boolean): string {
  const kinds = [
    'grid-cell',
    isNull(json) ? 'is-null' : '',
    details?.category === 'N' && !details.isArray ? 'is-number' : '',
    isActive ? 'is-active' : '',
  ]
  return kinds.filter(Boolean).join(' ')
}
