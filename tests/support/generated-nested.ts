// Random nested writes, over `fixtures/nested-random.sql`: trees of rows, and the requests that write them. At most one
// row of a tree is faulty, so that the error does not depend on the order in which rows are written.
import { pointerToken } from '../../server/rest/extensions/nested-writes/nested-errors.ts'
import type { Random } from './seeded-random.ts'

export type TableName = 'firms' | 'badges' | 'projects' | 'tasks' | 'notes' | 'skills'

/** Pairs of columns: of the row that has the foreign key, and of the row that it refers to. */
export type KeyPairs = readonly (readonly [own: string, other: string])[]

export type Relation = {
  readonly kind: 'to-one' | 'to-many' | 'one-to-one' | 'many-to-many'
  readonly target: TableName
  /** Keys of a body that name it. */
  readonly keys: readonly [string, ...string[]]
  readonly pairs: KeyPairs
}

export type RandomRow = {
  readonly table: TableName
  /** Its own columns. */
  readonly values: Readonly<Record<string, unknown>>
  readonly related: readonly {
    readonly key: string
    readonly relation: Relation
    /** The related rows; null sets a foreign key to null. */
    readonly rows: readonly RandomRow[] | null
  }[]
  readonly isFaulty: boolean
}

export type Resolution = 'merge-duplicates' | 'ignore-duplicates'

export type RandomWrite = {
  readonly table: TableName
  readonly roots: readonly RandomRow[]
  readonly isArray: boolean
  readonly resolution: Resolution | undefined
  readonly onConflict: string | undefined
  readonly isMissingDefault: boolean
  /** The `columns` parameter. */
  readonly columns: readonly string[] | undefined
  /** The code of the error, if the server refuses the body without asking the database. */
  readonly refusal: string | undefined
}

const toTask: KeyPairs = [
  ['project_id', 'project_id'],
  ['number', 'number'],
]

export const relations: Readonly<Record<TableName, readonly Relation[]>> = {
  firms: [
    {
      kind: 'to-many',
      target: 'projects',
      keys: ['projects', 'projects!firm_id', 'all:projects!projects_firm_id_fkey'],
      pairs: [['firm_id', 'id']],
    },
    { kind: 'one-to-one', target: 'badges', keys: ['badges', 'b:badges'], pairs: [['firm_id', 'id']] },
    { kind: 'to-many', target: 'firms', keys: ['firms', 'below:firms'], pairs: [['parent_id', 'id']] },
    { kind: 'to-one', target: 'firms', keys: ['above:parent_id', 'parent:parent_id'], pairs: [['parent_id', 'id']] },
  ],
  badges: [{ kind: 'to-one', target: 'firms', keys: ['firms', 'firms!firm_id'], pairs: [['firm_id', 'id']] }],
  projects: [
    { kind: 'to-one', target: 'firms', keys: ['firms', 'of:firms', 'firm:firm_id'], pairs: [['firm_id', 'id']] },
    { kind: 'to-many', target: 'tasks', keys: ['tasks', 'tasks!project_id'], pairs: [['project_id', 'id']] },
    { kind: 'many-to-many', target: 'skills', keys: ['skills', 'needs:skills!project_skills'], pairs: [] },
  ],
  tasks: [
    { kind: 'to-one', target: 'projects', keys: ['projects'], pairs: [['project_id', 'id']] },
    { kind: 'to-many', target: 'notes', keys: ['notes', 'n:notes'], pairs: toTask },
  ],
  notes: [{ kind: 'to-one', target: 'tasks', keys: ['tasks'], pairs: toTask }],
  skills: [{ kind: 'many-to-many', target: 'projects', keys: ['projects'], pairs: [] }],
}

/** Rows that exist: the first ones are Alice's, the last one is Bob's. */
export const existing = {
  firms: [1, 2, 3],
  projects: [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`),
  skills: ['go', 'sql', 'ada'],
} as const

export const seed = `
  delete from made.project_skills; delete from made.skills; delete from made.notes; delete from made.tasks;
  delete from made.projects; delete from made.badges; delete from made.firms;
  insert into made.firms (id, label, owner) values (1, 'firm one', 'alice'), (2, 'firm two', 'alice'), (3, 'of bob', 'bob');
  insert into made.projects (id, label, firm_id, owner) select ('00000000-0000-4000-8000-00000000000' || id)::uuid, label, id, owner
    from made.firms;
  insert into made.tasks (project_id, number, label, owner) select id, 1, label, owner from made.projects;
  insert into made.skills (code, label, owner) values ('go', 'go', 'alice'), ('sql', 'sql', 'alice'), ('ada', 'ada', 'bob');
  insert into made.project_skills (project_id, code, owner) select id, 'go', owner from made.projects where label = 'firm one'`

type Fault = Readonly<Record<string, unknown>>
/** Values that make a row faulty, and unknown keys. */
const faults: readonly [Fault, ...Fault[]] = [
  { rank: 'high' },
  { rank: -1 },
  { rank: { a: [1] } },
  { rank: 1.5 },
  { label: null },
  { label: 'forbidden by a policy' },
  { owner: 'bob' },
  { nothing: 1 },
  { 'a:nothing': [] },
  { owner: { a: 'not text' } },
]

/** Generates writes. The labels of new rows are unique. */
export class NestedGenerator {
  readonly #random: Random
  #labels = 0
  #depth = 0
  #resolution: Resolution | undefined
  /** Rows that exist and are not in the tree yet. */
  #free = new Set<unknown>()

  constructor(random: Random) {
    this.#random = random
  }

  next(canFail: boolean): RandomWrite {
    const random = this.#random
    this.#resolution = random.pick([undefined, undefined, 'merge-duplicates', 'ignore-duplicates'])
    this.#free = new Set<unknown>([...existing.firms, ...existing.projects, ...existing.skills])
    for (const list of [existing.firms, existing.projects, existing.skills]) {
      if (!canFail || random.chance(0.8)) this.#free.delete(list[2])
    }
    this.#depth = random.integer(1, 3)
    const table = random.pick<TableName>([
      'firms',
      'firms',
      'projects',
      'projects',
      'tasks',
      'notes',
      'badges',
      'skills',
    ])
    const isArray = random.chance(0.4)
    const size = isArray ? (random.chance(0.1) ? 23 : random.integer(1, 3)) : 1
    const made = Array.from({ length: size }, () => this.#row(table, this.#depth, []))
    const names = new Set(made.flatMap((row) => keysOf(row)))
    // Without the parameter, all objects of an array must have the same keys.
    const isUniform = made.every((row) => keysOf(row).length === names.size)
    const columns = !isUniform || (names.size > 0 && random.chance(0.15)) ? [...names] : undefined
    const hasFault = canFail && this.#resolution !== 'ignore-duplicates' && size > 0 && random.chance(0.4)
    const fault = hasFault ? random.pick(faults) : undefined
    const roots = fault ? withFault(random, made, fault, columns !== undefined) : made
    const isUnknown = fault && !('rank' in fault || 'label' in fault || 'owner' in fault)
    const isRefused = isUnknown && faultyPath(roots, String) !== undefined
    return {
      table,
      roots,
      isArray,
      resolution: this.#resolution,
      onConflict:
        this.#resolution && random.chance(0.2) && made.every(({ values }) => !hasKey(table, values))
          ? 'label'
          : undefined,
      isMissingDefault: columns !== undefined || random.chance(0.2),
      columns,
      refusal: isRefused ? 'PGRST204' : undefined,
    }
  }

  #row(table: TableName, depth: number, set: readonly string[]): RandomRow {
    const random = this.#random
    const values: Record<string, unknown> = { ...this.#keyOf(table) }
    if (values.code === undefined || !this.#isExisting(values) || random.chance(0.5)) {
      values.label = `label ${(this.#labels += 1)}`
    }
    if (random.chance(0.4)) values.rank = random.pick([0, 5, null, '12'])
    if (random.chance(0.2)) values.owner = 'alice'
    const related: RandomRow['related'][number][] = []
    for (const relation of relations[table]) {
      const isSet = relation.kind === 'to-one' && relation.pairs.every(([own]) => set.includes(own))
      const isNeeded = relation.kind === 'to-one' && table !== 'firms' && table !== 'projects' && table !== 'notes'
      if (isSet || (!isNeeded && (depth <= 0 || random.chance(0.5)))) continue
      // A firm has one badge only.
      if (relation.kind === 'one-to-one' && set.includes(relation.target)) continue
      const key = random.pick(relation.keys)
      if (relation.kind === 'to-one') {
        const rows = !isNeeded && random.chance(0.15) ? null : [this.#row(relation.target, depth - 1, [table])]
        related.push({ key, relation, rows })
        continue
      }
      const given = relation.pairs.map(([own]) => own)
      const size = relation.kind === 'one-to-one' ? 1 : depth === 1 && random.chance(0.05) ? 22 : random.integer(0, 2)
      const rows = Array.from({ length: size }, () => this.#row(relation.target, depth - 1, given))
      related.push({ key, relation, rows })
    }
    return { table, values, related, isFaulty: false }
  }

  #isExisting({ id, code }: Readonly<Record<string, unknown>>): boolean {
    return [...existing.firms, ...existing.projects, ...existing.skills].some((key) => key === id || key === code)
  }

  /** Values for the key of a row: of one that exists, of a new one, or none if there is a default. */
  #keyOf(table: TableName): Readonly<Record<string, unknown>> {
    if (table === 'tasks') return { number: (this.#labels += 1) }
    if (table === 'badges' || table === 'notes') return {}
    const name = table === 'skills' ? 'code' : 'id'
    const found = existing[table].find((key) => this.#free.has(key))
    if (this.#resolution && found !== undefined && this.#random.chance(0.4)) {
      this.#free.delete(found)
      return { [name]: found }
    }
    return table === 'skills' ? { code: `code ${(this.#labels += 1)}` } : {}
  }
}

const hasKey = (table: TableName, values: Readonly<Record<string, unknown>>): boolean =>
  table === 'tasks' || table === 'badges' || 'id' in values || 'code' in values

const keysOf = ({ values, related }: RandomRow): string[] => [...Object.keys(values), ...related.map(({ key }) => key)]

const sizeOf = ({ related }: RandomRow): number =>
  related.reduce((sum, { rows }) => sum + (rows ?? []).reduce((sum, row) => sum + sizeOf(row), 0), 1)

/** Puts a fault into one row. */
function withFault(random: Random, roots: readonly RandomRow[], fault: Fault, isNamed: boolean): readonly RandomRow[] {
  let at = random.below(roots.reduce((sum, row) => sum + sizeOf(row), 0))
  // What a root has in addition must be named by `columns`, or be in all roots.
  if (isNamed || roots.length > 1) at = Math.max(at, 1)
  const changed = (row: RandomRow, isRoot: boolean): RandomRow => {
    const isFaulty = at-- === 0 && !(isRoot && (isNamed || roots.length > 1))
    const values = isFaulty ? { ...row.values, ...fault } : row.values
    const related = row.related.map((one) => ({ ...one, rows: one.rows?.map((row) => changed(row, false)) ?? null }))
    return { ...row, values, related, isFaulty }
  }
  return roots.map((row) => changed(row, true))
}

/** The object of a row in the body. */
export function objectOf({ values, related }: RandomRow): Record<string, unknown> {
  const members = related.map(({ key, relation, rows }) => {
    const objects = rows?.map(objectOf)
    return [key, relation.kind === 'to-one' || relation.kind === 'one-to-one' ? (objects?.[0] ?? null) : objects]
  })
  return { ...values, ...(Object.fromEntries(members) as object) }
}

/** The pointer to the faulty row; undefined if there is none. */
export function faultyPath(rows: readonly RandomRow[], prefix: (index: number) => string): string | undefined {
  for (const [index, row] of rows.entries()) {
    const path = prefix(index)
    if (row.isFaulty) return path
    for (const { key, relation, rows } of row.related) {
      const at = path + pointerToken(key)
      const isOne = relation.kind === 'to-one' || relation.kind === 'one-to-one'
      const found = faultyPath(rows ?? [], (index) => (isOne ? at : `${at}/${index}`))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** A select list with all related rows of the tree, by their labels. */
export function selectOf(rows: readonly RandomRow[]): string {
  const byKey = new Map<string, readonly RandomRow[]>()
  for (const { related } of rows) {
    for (const { key, rows } of related) byKey.set(key, [...(byKey.get(key) ?? []), ...(rows ?? [])])
  }
  const embeds = [...byKey].map(([key, rows], index) => `e${index}:${key.replace(/^.*:/, '')}(${selectOf(rows)})`)
  return ['label', 'rank', 'owner', ...embeds].join(',')
}
