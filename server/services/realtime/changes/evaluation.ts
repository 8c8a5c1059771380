// Decides who gets which changes of a table, in one batch: filters first, then one check of the policies for all rows of a viewer,
// or of a role whose policies do not depend on the viewer.
import { inParallel } from '../../../common/in-parallel.ts'
import { isUnreachable, sqlState } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import type { LogChange, LogRelation, LogTuple } from '../../../postgres/replication/log-transaction.ts'
import type { CheckBatch } from '../policies/check-batch.ts'
import type { Audience, Viewer } from './audience.ts'
import { answer, matches, type Question } from './filter.ts'
import type { Binding, ChangeKind } from './filter-text.ts'
import type { LoggedRow } from './logged-row.ts'
import type { Projection, TableFault } from './projection.ts'
import type { CompiledBinding, RoleTable, TableCatalogue } from './published-table.ts'
import { ChangesRefused, type ChangeEvent, type ChangeFailure } from './row-changes.ts'
import { isOfSession, persist, Visibility } from './visibility.ts'

/** A change of the table, with what its event says of it. */
export type EvaluatedChange = { readonly change: LogChange; readonly position: string; readonly time: string }

/** An event for an audience, and indexes of the bindings that it matches. */
export type Delivery = {
  readonly audience: Audience
  readonly event: ChangeEvent
  readonly bindings: readonly number[]
}

export type EvaluationTools = {
  readonly database: Pick<Database, 'runWith'>
  /** Runs the checks of policies. */
  readonly checks: CheckBatch
  readonly catalogue: TableCatalogue
  /** A viewer with the role and no claims, for what does not depend on them. */
  readonly roleViewer: (role: string) => Viewer
  /** The same for filters, which get little time. */
  readonly filterViewer: (role: string) => Viewer
  /** Events are missing for an audience, or its bindings do not fit the table. */
  readonly onFailure: (audience: Audience, failure: ChangeFailure) => void
  /** Counts checks of policies. */
  readonly onCheck: (rows: number) => void
  /** Errors for the log. */
  readonly onError: (error: unknown) => void
}

type Item = EvaluatedChange & {
  readonly kind: ChangeKind
  /** The new row; of DELETE, the old one. */
  readonly row: LoggedRow
  /** The old row of an update, if all of it is known. */
  readonly fullOld: LoggedRow | undefined
  /** What the log has of the old row. */
  readonly old: LoggedRow | undefined
  readonly events: Map<string, ChangeEvent>
}

type Member = { readonly audience: Audience; readonly bindings: readonly PreparedBinding[] }
type PreparedBinding = CompiledBinding & { readonly index: number; readonly binding: Binding }

const kinds = { insert: 'INSERT', update: 'UPDATE', delete: 'DELETE' } as const

/** The SQLSTATE of a statement that took too long. */
const queryCanceled = '57014'
/** Statements that run at the same time. */
const mostParallel = 200

/** @returns the deliveries of each change */
export async function evaluate(
  tools: EvaluationTools,
  relation: LogRelation,
  changes: readonly EvaluatedChange[],
  audiences: Iterable<Audience>,
): Promise<Delivery[][]> {
  const byRole = new Map<string, Audience[]>()
  for (const audience of audiences) {
    const { role } = audience.viewer
    const known = byRole.get(role)
    if (known) known.push(audience)
    else byRole.set(role, [audience])
  }
  const deliveries = changes.map((): Delivery[] => [])
  await Promise.all(
    [...byRole].map(([role, members]) => new RoleEvaluation(tools, relation, changes, deliveries).run(role, members)),
  )
  return deliveries
}

class RoleEvaluation {
  readonly #tools: EvaluationTools
  readonly #relation: LogRelation
  readonly #changes: readonly EvaluatedChange[]
  readonly #deliveries: Delivery[][]
  readonly #answers = new Map<string, Set<string>>()

  constructor(
    tools: EvaluationTools,
    relation: LogRelation,
    changes: readonly EvaluatedChange[],
    deliveries: Delivery[][],
  ) {
    this.#tools = tools
    this.#relation = relation
    this.#changes = changes
    this.#deliveries = deliveries
  }

  async run(role: string, audiences: readonly Audience[]): Promise<void> {
    try {
      const table = await persist(() => this.#tools.catalogue.get(this.#relation, role))
      if (table) await this.#evaluate(table, role, audiences)
      else this.#fail(audiences, 'Gap', `Changes are missing: ${this.#tableName} was dropped or created again.`)
    } catch (error) {
      this.#failFor(audiences, error)
    }
  }

  get #tableName(): string {
    return `the table ${this.#relation.schema}.${this.#relation.name}`
  }

  #fail(audiences: readonly Audience[], code: ChangeFailure['code'], message: string): void {
    for (const audience of audiences) this.#tools.onFailure(audience, { code, message })
  }

  #failFor(audiences: readonly Audience[], error: unknown): void {
    if (isOfSession(error)) return this.#fail(audiences, 'Refused', 'The session of this token has ended')
    this.#tools.onError(error)
    const reason = isUnreachable(error)
      ? 'the database cannot be reached'
      : `a policy or a type of ${this.#tableName} failed`
    this.#fail(audiences, 'Gap', `Changes are missing: ${reason}.`)
  }

  async #evaluate(table: RoleTable, role: string, audiences: readonly Audience[]): Promise<void> {
    const viewer = this.#tools.roleViewer(role)
    const members = await this.#prepare(table, viewer, audiences)
    if (members.length === 0) return
    const items = this.#items(table)
    await this.#ask(role, members, items.flatMap(rowsOf))
    await this.#convert(table, viewer, items.flatMap(rowsOf))
    const { select } = table.access
    if (select.kind !== 'expression' || !select.dependsOnCaller) return this.#decide(table, viewer, members, items)
    await inParallel(
      byViewer(members),
      ({ viewer: one, members: group }) => this.#decide(table, one, group, items),
      mostParallel,
    )
  }

  /** Prepares the bindings. Those that do not fit the table any more are refused. */
  async #prepare(table: RoleTable, viewer: Viewer, audiences: readonly Audience[]): Promise<Member[]> {
    const members = await Promise.all(
      audiences.map(async (audience): Promise<Member[]> => {
        try {
          const bindings = await Promise.all(
            audience.bindings.map(async ({ index, binding }) => ({
              ...(await persist(() => table.compile(binding, viewer))),
              index,
              binding,
            })),
          )
          return [{ audience, bindings }]
        } catch (error) {
          // A binding to all tables is for those that it fits.
          const isOfAll = audience.bindings.every(({ binding }) => binding.schema === '*' || binding.table === '*')
          if (!(error instanceof ChangesRefused)) this.#failFor([audience], error)
          else if (!isOfAll) this.#fail([audience], 'Refused', `${this.#tableName} has changed: ${error.message}`)
          return []
        }
      }),
    )
    return members.flat()
  }

  #items(table: RoleTable): Item[] {
    const { replicaIdentity } = this.#relation
    const rowOf = table.rows(this.#relation)
    return this.#changes.map((given): Item => {
      const { change } = given
      const isKeyOnly = replicaIdentity !== 'full'
      const old = oldRowOf(change, isKeyOnly, rowOf)
      const fullOld = change.kind === 'update' && change.old && !isKeyOnly ? old : undefined
      const logged = change.kind === 'delete' ? rowOf(change.old, isKeyOnly) : rowOf(change.row, false)
      // A large value that has not changed is in the old row, if all of that is logged.
      const row = fullOld ? logged.completed(fullOld.values) : logged
      return { ...given, kind: kinds[change.kind], row, old, fullOld, events: new Map() }
    })
  }

  /** Lets the database decide the conditions that need it, for the values of all rows. */
  async #ask(role: string, members: readonly Member[], rows: readonly LoggedRow[]): Promise<void> {
    const questions = new Map<
      string,
      { readonly question: Question; readonly column: number; readonly askers: Audience[] }
    >()
    for (const { audience, bindings } of members) {
      for (const { conditions } of bindings) {
        for (const { decide, question, column } of conditions) {
          if (decide) continue
          const known = questions.get(question.key)
          if (known) known.askers.push(audience)
          else questions.set(question.key, { question, column, askers: [audience] })
        }
      }
    }
    if (questions.size === 0) return
    const values = new Map<number, (string | null)[]>()
    const valuesOf = (column: number): (string | null)[] => {
      let known = values.get(column)
      if (!known) {
        const distinct = new Set(rows.map((row) => row.text(column)))
        distinct.delete(undefined)
        values.set(column, (known = [...distinct] as (string | null)[]))
      }
      return known
    }
    const asked = [...questions.values()].map(({ question, column }) => ({ question, values: valuesOf(column) }))
    const answers = await persist(() =>
      answer(this.#tools.database, this.#tools.filterViewer(role).settings, asked, ({ key }, error) => {
        if (isUnreachable(error)) throw error
        const askers = questions.get(key)?.askers ?? []
        // All others have waited for it, and would do so at each change.
        if (sqlState(error) === queryCanceled)
          this.#fail(askers, 'Refused', `A filter of ${this.#tableName} takes too long`)
        else this.#failFor(askers, error)
      }),
    )
    for (const [key, found] of answers) {
      const known = this.#answers.get(key)
      if (!known) this.#answers.set(key, new Set(found))
      else for (const value of found) known.add(value)
    }
  }

  /** Lets the database write values whose JSON only it knows. */
  async #convert(table: RoleTable, viewer: Viewer, rows: readonly LoggedRow[]): Promise<void> {
    for (const index of table.forms.keys()) {
      const waiting = rows.filter((row) => row.needsConversion(index))
      if (waiting.length === 0) continue
      const jsons = await persist(() =>
        table.toJson(
          index,
          viewer,
          waiting.map((row) => row.text(index) ?? ''),
        ),
      )
      waiting.forEach((row, number) => row.setJson(index, jsons[number] ?? 'null'))
    }
  }

  async #decide(table: RoleTable, viewer: Viewer, members: readonly Member[], items: readonly Item[]): Promise<void> {
    const audiences = members.map(({ audience }) => audience)
    try {
      await this.#decideFor(table, viewer, members, items, audiences)
    } catch (error) {
      this.#failFor(audiences, error)
    }
  }

  async #decideFor(
    table: RoleTable,
    viewer: Viewer,
    members: readonly Member[],
    items: readonly Item[],
    audiences: readonly Audience[],
  ): Promise<void> {
    const { checks, onCheck, onError } = this.#tools
    let isFailed = false
    const visibility = new Visibility(table, viewer, checks, {
      onCheck,
      onFailure: (error) => {
        onError(error)
        if (isFailed) return
        isFailed = true
        this.#fail(audiences, 'Gap', `Changes are missing: a policy of ${this.#tableName} failed.`)
      },
    })
    const fault = faultOf(table)
    const wanted = items.filter(
      (item) =>
        (fault !== undefined && item.kind !== 'DELETE') ||
        members.some(({ bindings }) => bindings.some((binding) => this.#mayMatch(binding, item))),
    )
    if (wanted.length === 0) return
    const shown = fault ? new Shown(new Map()) : await this.#show(table, visibility, members, wanted)
    if (fault) await this.#showDeleted(visibility, wanted, shown)
    const indexes = new Map(items.map((item, index) => [item, index]))
    for (const item of wanted) {
      const deliveries = this.#deliveries[indexes.get(item) ?? 0]
      for (const member of members) {
        if (fault && item.kind !== 'DELETE') addFault(deliveries, member, item, fault)
        else this.#add(deliveries, member, item, shown)
      }
    }
  }

  #mayMatch({ conditions, binding }: PreparedBinding, item: Item): boolean {
    if (!isFor(binding, item.kind)) return false
    const test = (row: LoggedRow): boolean =>
      conditions.every((one) => matches(one, row.text(one.column), this.#answers) !== false)
    return test(item.row) || (binding.reportsLeaving && item.fullOld !== undefined && test(item.fullOld))
  }

  /** Finds out what the viewer sees of the rows, and reads what is missing in them. */
  async #show(
    table: RoleTable,
    visibility: Visibility,
    members: readonly Member[],
    items: readonly Item[],
  ): Promise<Shown> {
    const { columns, select } = table.access
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
    const rows = new Map<Item, LoggedRow>()
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
    const completed = [...rows.values()]
    if (completed.length > 0) {
      await this.#ask(table.role, members, completed)
      await this.#convert(table, visibility.viewer, completed)
    }
    const shown = new Shown(rows)
    if (isAlways) {
      shown.showsAll = true
      return shown
    }
    if (select.kind === 'never') return shown
    await this.#check(visibility, items, shown)
    // Of rows that the policies cannot decide, those that were found in the table are visible.
    for (const item of rows.keys()) if (!visibility.isDecidable(shown.completed(item))) shown.visible.add(item.row)
    return shown
  }

  async #check(visibility: Visibility, items: readonly Item[], shown: Shown): Promise<void> {
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
  async #showDeleted(visibility: Visibility, items: readonly Item[], shown: Shown): Promise<void> {
    const { select } = visibility.table.access
    if (select.kind === 'always') shown.showsAll = true
    else if (select.kind === 'expression')
      await this.#check(
        visibility,
        items.filter(({ kind }) => kind === 'DELETE'),
        shown,
      )
  }

  #add(deliveries: Delivery[] | undefined, { audience, bindings }: Member, item: Item, shown: Shown): void {
    let groups: Map<Projection, { event: ChangeEvent; bindings: number[] }> | undefined
    for (const prepared of bindings) {
      const look = this.#look(prepared, item, shown)
      if (!look) continue
      const { projection, index } = prepared
      groups ??= new Map()
      const group = groups.get(projection)
      if (group) group.bindings.push(index)
      else groups.set(projection, { event: eventOf(item, projection, look, shown), bindings: [index] })
    }
    for (const group of groups?.values() ?? []) deliveries?.push({ audience, ...group })
  }

  /** What a binding shows of a change: undefined if nothing. */
  #look({ conditions, binding }: PreparedBinding, item: Item, shown: Shown): Look | undefined {
    if (!isFor(binding, item.kind)) return undefined
    const test = (row: LoggedRow): boolean =>
      conditions.every((one) => matches(one, row.text(one.column), this.#answers) === true)
    const { row, fullOld, kind } = item
    if (kind === 'DELETE') {
      if (!test(row)) return undefined
      return shown.isVisible(row) ? 'all' : shown.undecided.has(row) ? 'key' : undefined
    }
    const seesOld = fullOld !== undefined && shown.isVisible(fullOld)
    if (shown.isVisible(row) && test(shown.completed(item))) return seesOld || !fullOld ? 'all' : 'key'
    return binding.reportsLeaving && seesOld && test(fullOld) ? 'leaving' : undefined
  }
}

/** `key`: all of the new row, and the key of the old one. `leaving`: the old row only. */
type Look = 'all' | 'key' | 'leaving'

/** What a viewer sees of rows. */
class Shown {
  showsAll = false
  readonly visible = new Set<LoggedRow>()
  /** Deleted rows of which too little is known for a decision. */
  readonly undecided = new Set<LoggedRow>()
  readonly #completed: ReadonlyMap<Item, LoggedRow>
  readonly #events = new Map<Item, Map<string, ChangeEvent>>()

  constructor(completed: ReadonlyMap<Item, LoggedRow>) {
    this.#completed = completed
  }

  isVisible(row: LoggedRow): boolean {
    return this.showsAll || this.visible.has(row)
  }

  /** The events of this viewer for a change. */
  eventsOf(item: Item): Map<string, ChangeEvent> {
    let events = this.#events.get(item)
    if (!events) this.#events.set(item, (events = new Map<string, ChangeEvent>()))
    return events
  }

  /** The new row, with the values that were read from the table. */
  completed(item: Item): LoggedRow {
    return this.#completed.get(item) ?? item.row
  }
}

/** What the log has of the old row. It has nothing of an update that leaves the key as it is. */
function oldRowOf(
  change: LogChange,
  isKeyOnly: boolean,
  rowOf: (tuple: LogTuple, isKeyOnly: boolean) => LoggedRow,
): LoggedRow | undefined {
  if (change.kind === 'insert') return undefined
  if (change.old) return rowOf(change.old, isKeyOnly)
  return change.kind === 'update' ? rowOf(change.row, true) : undefined
}

const rowsOf = ({ row, old }: Item): LoggedRow[] => (old ? [row, old] : [row])

const isFor = ({ event }: Binding, kind: ChangeKind): boolean => event === '*' || event === kind

function faultOf({ hasKey, hasReadableKey }: RoleTable): TableFault | undefined {
  if (!hasKey) return 'Error 400: Bad Request, no primary key'
  return hasReadableKey ? undefined : 'Error 401: Unauthorized'
}

function addFault(
  deliveries: Delivery[] | undefined,
  { audience, bindings }: Member,
  item: Item,
  fault: TableFault,
): void {
  const [first] = bindings
  const matching = bindings.filter(({ binding }) => isFor(binding, item.kind)).map(({ index }) => index)
  if (!first || matching.length === 0) return
  const { kind, time, position } = item
  const event = keptEvent(item.events, fault, position, () => first.projection.fault({ kind, time, position }, fault))
  deliveries?.push({ audience, event, bindings: matching })
}

function eventOf(item: Item, projection: Projection, look: Look, shown: Shown): ChangeEvent {
  const { kind, time, position } = item
  const row = shown.completed(item)
  const data = (): string =>
    projection.data({
      kind,
      time,
      position,
      row: kind === 'DELETE' || look === 'leaving' ? undefined : row,
      old: kind === 'DELETE' ? row : item.old,
      hasKeyOnly: look === 'key',
    })
  // Values that were read from the table may differ from viewer to viewer.
  const events = row === item.row ? item.events : shown.eventsOf(item)
  return keptEvent(events, `${projection.id} ${look}`, position, data)
}

function keptEvent(events: Map<string, ChangeEvent>, key: string, position: string, data: () => string): ChangeEvent {
  let event = events.get(key)
  if (!event) events.set(key, (event = { data: data(), position }))
  return event
}

function byViewer(members: readonly Member[]): { readonly viewer: Viewer; readonly members: Member[] }[] {
  const groups = new Map<string, { readonly viewer: Viewer; readonly members: Member[] }>()
  for (const member of members) {
    const { viewer } = member.audience
    const group = groups.get(viewer.key)
    if (group) group.members.push(member)
    else groups.set(viewer.key, { viewer, members: [member] })
  }
  return [...groups.values()]
}
