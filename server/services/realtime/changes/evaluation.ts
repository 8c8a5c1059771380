// Decides who gets which changes of a table, in one batch: filters first, then one check of the policies for all rows of a viewer,
// or of a role whose policies do not depend on the viewer.
import { inParallel } from '../../../common/in-parallel.ts'
import { isUnreachable, sqlState } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import type { LogRelation } from '../../../postgres/replication/log-transaction.ts'
import type { CheckBatch } from '../policies/check-batch.ts'
import type { Audience, Viewer } from './audience.ts'
import { itemsOf, rowsOf, type ChangeItem, type EvaluatedChange } from './change-item.ts'
import { answer, matches, type Question } from './filter.ts'
import type { Binding, ChangeKind } from './filter-text.ts'
import type { LoggedRow } from './logged-row.ts'
import type { Projection, TableFault } from './projection.ts'
import type { CompiledBinding, RoleTable, TableCatalogue } from './published-table.ts'
import { ChangesRefused, type ChangeEvent, type ChangeFailure } from './row-changes.ts'
import { eventOf, keptEvent, type Look } from './shared-event.ts'
import { shownDeletedRows, shownRows, type ShownRows } from './shown-rows.ts'
import { isOfSession, persist, Visibility } from './visibility.ts'

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

type Member = { readonly audience: Audience; readonly bindings: readonly PreparedBinding[] }
type PreparedBinding = CompiledBinding & { readonly index: number; readonly binding: Binding }

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
    const items = itemsOf(table, this.#relation, this.#changes)
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

  async #decide(
    table: RoleTable,
    viewer: Viewer,
    members: readonly Member[],
    items: readonly ChangeItem[],
  ): Promise<void> {
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
    items: readonly ChangeItem[],
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
    const shown = fault
      ? await shownDeletedRows(visibility, wanted)
      : await shownRows(visibility, wanted, async (rows) => {
          await this.#ask(table.role, members, rows)
          await this.#convert(table, viewer, rows)
        })
    const indexes = new Map(items.map((item, index) => [item, index]))
    for (const item of wanted) {
      const deliveries = this.#deliveries[indexes.get(item) ?? 0]
      for (const member of members) {
        if (fault && item.kind !== 'DELETE') addFault(deliveries, member, item, fault)
        else this.#add(deliveries, member, item, shown)
      }
    }
  }

  #mayMatch({ conditions, binding }: PreparedBinding, item: ChangeItem): boolean {
    if (!isFor(binding, item.kind)) return false
    const test = (row: LoggedRow): boolean =>
      conditions.every((one) => matches(one, row.text(one.column), this.#answers) !== false)
    return test(item.row) || (binding.reportsLeaving && item.fullOld !== undefined && test(item.fullOld))
  }

  #add(deliveries: Delivery[] | undefined, { audience, bindings }: Member, item: ChangeItem, shown: ShownRows): void {
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
  #look({ conditions, binding }: PreparedBinding, item: ChangeItem, shown: ShownRows): Look | undefined {
    if (!isFor(binding, item.kind)) return undefined
    const test = (row: LoggedRow): boolean =>
      conditions.every((one) => matches(one, row.text(one.column), this.#answers) === true)
    const { row, fullOld, kind } = item
    if (kind === 'DELETE') {
      if (!test(row)) return undefined
      if (shown.isVisible(row)) return 'all'
      if (!shown.undecided.has(row)) return undefined
      // Conditions for other columns would give away what nothing allows the subscriber to see.
      const isFull = this.#relation.replicaIdentity === 'full'
      return !isFull || conditions.every(({ isOfKey }) => isOfKey) ? 'key' : undefined
    }
    const seesOld = fullOld !== undefined && shown.isVisible(fullOld)
    if (shown.isVisible(row) && test(shown.completed(item))) return seesOld || !fullOld ? 'all' : 'key'
    return binding.reportsLeaving && seesOld && test(fullOld) ? 'leaving' : undefined
  }
}

const isFor = ({ event }: Binding, kind: ChangeKind): boolean => event === '*' || event === kind

function faultOf({ hasKey, hasReadableKey }: RoleTable): TableFault | undefined {
  if (!hasKey) return 'Error 400: Bad Request, no primary key'
  return hasReadableKey ? undefined : 'Error 401: Unauthorized'
}

function addFault(
  deliveries: Delivery[] | undefined,
  { audience, bindings }: Member,
  item: ChangeItem,
  fault: TableFault,
): void {
  const [first] = bindings
  const matching = bindings.filter(({ binding }) => isFor(binding, item.kind)).map(({ index }) => index)
  if (!first || matching.length === 0) return
  const { kind, time, position } = item
  const event = keptEvent(item.events, fault, position, () => first.projection.fault({ kind, time, position }, fault))
  deliveries?.push({ audience, event, bindings: matching })
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
