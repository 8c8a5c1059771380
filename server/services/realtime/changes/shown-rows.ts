// What a viewer is shown of the rows of changes.
import type { ChangeItem } from './change-item.ts'
import type { LoggedRow } from './logged-row.ts'
import type { ChangeEvent } from './row-changes.ts'
import type { Visibility } from './visibility.ts'

/** What a viewer sees of rows. */
export class ShownRows {
  showsAll = false
  readonly visible = new Set<LoggedRow>()
  /** Deleted rows of which too little is known for a decision. */
  readonly undecided = new Set<LoggedRow>()
  readonly #completed: ReadonlyMap<ChangeItem, LoggedRow>
  readonly #events = new Map<ChangeItem, Map<string, ChangeEvent>>()

  constructor(completed: ReadonlyMap<ChangeItem, LoggedRow>) {
    this.#completed = completed
  }

  isVisible(row: LoggedRow): boolean {
    return this.showsAll || this.visible.has(row)
  }

  /** The events of this viewer for a change. */
  eventsOf(item: ChangeItem): Map<string, ChangeEvent> {
    let events = this.#events.get(item)
    if (!events) this.#events.set(item, (events = new Map<string, ChangeEvent>()))
    return events
  }

  /** The new row, with the values that were read from the table. */
  completed(item: ChangeItem): LoggedRow {
    return this.#completed.get(item) ?? item.row
  }
}

/**
 * Finds out what the viewer sees of rows, and reads what is missing in them.
 *
 * @param onCompleted gets the rows with the values that were read from the table, before anything is decided about them
 */
export async function shownRows(
  visibility: Visibility,
  items: readonly ChangeItem[],
  onCompleted: (rows: readonly LoggedRow[]) => Promise<void>,
): Promise<ShownRows> {
  const { columns, select } = visibility.table.access
  const isAlways = select.kind === 'always'
  const isReadable = (index: number): boolean => columns[index]?.isReadable === true
  const stored = items.filter(({ kind }) => kind !== 'DELETE')
  const missing = [...columns.keys()].filter(
    (index) => isReadable(index) && stored.some(({ row }) => !row.isKnown(index)),
  )
  const incomplete = stored.filter(({ row }) => missing.some((index) => !row.isKnown(index)))
  const found = await visibility.lookUp(
    incomplete.map(({ row }) => row),
    missing,
  )
  const rows = new Map<ChangeItem, LoggedRow>()
  for (const item of incomplete) {
    const texts = found.get(item.row)
    if (!texts) continue
    const values = columns.map((_, index) => {
      const place = missing.indexOf(index)
      const text = place < 0 ? undefined : texts[place]
      return typeof text === 'string' ? Buffer.from(text) : text
    })
    rows.set(item, item.row.completed(values))
  }
  if (rows.size > 0) await onCompleted([...rows.values()])
  const shown = new ShownRows(rows)
  if (isAlways) {
    shown.showsAll = true
    return shown
  }
  if (select.kind === 'never') return shown
  await check(visibility, items, shown)
  // Of rows that the policies cannot decide, those that were found in the table are visible.
  for (const item of rows.keys()) if (!visibility.isDecidable(shown.completed(item))) shown.visible.add(item.row)
  return shown
}

async function check(visibility: Visibility, items: readonly ChangeItem[], shown: ShownRows): Promise<void> {
  // That a row is visible now does not mean that it was: what was read from the table only completes the logged row.
  const stored = items.filter(({ kind }) => kind !== 'DELETE').map((item) => ({ item, row: shown.completed(item) }))
  const old = items.flatMap((item) => (item.kind === 'DELETE' ? [item.row] : item.fullOld ? [item.fullOld] : []))
  const visible = await visibility.check(
    [...stored.map(({ row }) => row), ...old].filter((row) => visibility.isDecidable(row)),
  )
  for (const { item, row } of stored) if (visible.has(row)) shown.visible.add(item.row)
  for (const row of old) if (visible.has(row)) shown.visible.add(row)
  // The check may have found out that its conditions need stored rows.
  const undecided = stored
    .filter(({ item, row }) => row === item.row && !visibility.isDecidable(row))
    .map(({ row }) => row)
  const found = await visibility.lookUp(undecided, [])
  for (const row of found.keys()) shown.visible.add(row)
  for (const row of old) if (!visibility.isDecidable(row)) shown.undecided.add(row)
}

/** The same for deleted rows of a table whose other rows are not shown. */
export async function shownDeletedRows(visibility: Visibility, items: readonly ChangeItem[]): Promise<ShownRows> {
  const { select } = visibility.table.access
  const shown = new ShownRows(new Map())
  if (select.kind === 'always') shown.showsAll = true
  else if (select.kind === 'expression')
    await check(
      visibility,
      items.filter(({ kind }) => kind === 'DELETE'),
      shown,
    )
  return shown
}
