// Writes the rows of a generated nested write one by one, as a client would that knows the keys of the rows before.
import type pg from 'pg'
import type { RandomRow, RandomWrite, Relation, TableName } from './generated-nested.ts'

const primaryKeys: Readonly<Record<TableName, readonly string[]>> = {
  firms: ['id'],
  badges: ['firm_id'],
  projects: ['id'],
  tasks: ['project_id', 'number'],
  notes: ['id'],
  skills: ['code'],
}

type Values = Readonly<Record<string, unknown>>
type Role = 'root' | 'child' | 'referenced'
/** The primary key of a row, and whether this write has written it. */
type Written = { readonly key: Values; readonly isWritten: boolean }

/** A row that exists, but not for its caller. */
export class Unmatched extends Error {
  readonly code = 'PGRSTX25'
}

/** Text that PostgreSQL reads as a value of any type. */
const parameter = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value

const isKeyOf = (key: readonly string[], values: Values): boolean => key.every((name) => name in values)

export class NestedOracle {
  readonly #client: pg.Client
  readonly #write: RandomWrite

  constructor(client: pg.Client, write: RandomWrite) {
    this.#client = client
    this.#write = write
  }

  /** Writes all rows, in the transaction and as the role of the client. */
  async run(): Promise<void> {
    const { roots, columns, isMissingDefault } = this.#write
    const names = (columns ?? []).filter((name) => roots.some(({ values }) => name in values))
    for (const root of roots) {
      const missing = isMissingDefault ? [] : names.filter((name) => !(name in root.values))
      await this.#row(root, 'root', Object.fromEntries(missing.map((name) => [name, null])))
    }
  }

  async #row(row: RandomRow, role: Role, set: Values): Promise<Written> {
    const values: Record<string, unknown> = { ...row.values, ...set }
    for (const { relation, rows } of row.related) {
      if (relation.kind !== 'to-one') continue
      const [target] = rows ?? []
      const found = target && (await this.#row(target, 'referenced', {}))
      for (const [own, other] of relation.pairs) values[own] = found?.key[other] ?? null
    }
    const written = await this.#insert(row.table, values, role)
    if (!written.isWritten) return written
    for (const { relation, rows } of row.related) {
      for (const related of rows ?? []) await this.#related(row.table, written, relation, related)
    }
    return written
  }

  async #related(table: TableName, { key }: Written, relation: Relation, row: RandomRow): Promise<void> {
    if (relation.kind === 'to-one') return
    if (relation.kind !== 'many-to-many') {
      await this.#row(row, 'child', Object.fromEntries(relation.pairs.map(([own, other]) => [own, key[other]])))
      return
    }
    const target = await this.#row(row, 'referenced', {})
    const [project, skill] = table === 'projects' ? [key, target.key] : [target.key, key]
    const conflict = this.#write.resolution ? ' on conflict do nothing' : ''
    await this.#client.query(`insert into made.project_skills (project_id, code) values ($1, $2)${conflict}`, [
      project.id,
      skill.code,
    ])
  }

  async #insert(table: TableName, values: Values, role: Role): Promise<Written> {
    const { resolution } = this.#write
    const primaryKey = primaryKeys[table]
    const conflict = role === 'root' && this.#write.onConflict ? [this.#write.onConflict] : primaryKey
    const mayExist = resolution !== undefined && (role === 'root' || isKeyOf(conflict, values))
    const names = Object.keys(values)
    const others = names.filter((name) => !conflict.includes(name))
    const ignores = resolution === 'ignore-duplicates' || (role === 'referenced' && others.length === 0)
    if (mayExist && role === 'referenced' && ignores) {
      // The caller needs the privilege to insert even if the row exists.
      await this.#client.query(
        `insert into made.${table} (${names.join(', ')}) select ${names.join(', ')} from made.${table} where false`,
      )
      const found = await this.#find(table, values)
      if (found) return { key: found, isWritten: resolution === 'merge-duplicates' }
    }
    const updated = (role === 'root' ? names : others.length === 0 ? names : others).map(
      (name) => `${name} = excluded.${name}`,
    )
    const action = ignores || names.length === 0 ? 'nothing' : `update set ${updated.join(', ')}`
    const { rows } = await this.#client.query<Values>(
      `insert into made.${table} ` +
        (names.length === 0
          ? 'default values'
          : `(${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`) +
        (mayExist && names.length > 0 ? ` on conflict (${conflict.join(', ')}) do ${action}` : '') +
        ` returning ${primaryKey.join(', ')}`,
      Object.values(values).map(parameter),
    )
    const [key] = rows
    if (key) return { key, isWritten: true }
    if (role === 'referenced') throw new Unmatched()
    return { key: {}, isWritten: false }
  }

  async #find(table: TableName, values: Values): Promise<Values | undefined> {
    const key = primaryKeys[table]
    const { rows } = await this.#client.query<Values>(
      `select ${key.join(', ')} from made.${table} where ${key.map((name, index) => `${name} = $${index + 1}`).join(' and ')}`,
      key.map((name) => values[name]),
    )
    return rows[0]
  }
}
