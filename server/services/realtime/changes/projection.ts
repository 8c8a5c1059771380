// Which columns of a table an event shows, and its member `data`.
import type { RelationAccess } from '../policies/relation-policies.ts'
import type { ChangeKind } from './filter-text.ts'
import type { LoggedRow } from './logged-row.ts'

/** Above this many bytes of its values, an event has only the small ones of them. */
export const mostBytes = 1024 * 1024
/** Bytes of the JSON of a small value. */
const smallValue = 64

export type EventParts = {
  readonly kind: ChangeKind
  readonly time: string
  readonly position: string
  /** Undefined for DELETE, and when the row has left what the subscriber sees. */
  readonly row: LoggedRow | undefined
  readonly old: LoggedRow | undefined
  /** Whether only the key of the old row is shown. */
  readonly hasKeyOnly: boolean
}

/** What is wrong with a table or its privileges, in place of rows. */
export type TableFault = 'Error 400: Bad Request, no primary key' | 'Error 401: Unauthorized'

let projections = 0

export class Projection {
  /** Different for each. */
  readonly id = ++projections
  readonly #head: string
  readonly #columns: string
  readonly #shown: readonly { readonly index: number; readonly name: string; readonly isKey: boolean }[]
  readonly #hasTextNumbers: boolean

  /**
   * @param shown indexes of the columns
   * @param hasTextNumbers whether numbers that JavaScript may round are strings; the type of their columns is `text` then, so that
   *   supabase-js leaves them as they are
   */
  constructor(
    { schema, name, columns }: RelationAccess,
    shown: readonly number[],
    inexact: ReadonlySet<number>,
    hasTextNumbers: boolean,
  ) {
    this.#head = `{"schema":${JSON.stringify(schema)},"table":${JSON.stringify(name)},"type":`
    this.#hasTextNumbers = hasTextNumbers
    const described: string[] = []
    const list: { index: number; name: string; isKey: boolean }[] = []
    for (const index of shown) {
      const column = columns[index]
      if (!column) continue
      const { typeName, isKey } = column
      const type = !hasTextNumbers || !inexact.has(index) ? typeName : typeName.startsWith('_') ? '_text' : 'text'
      described.push(JSON.stringify({ name: column.name, type }))
      list.push({ index, name: JSON.stringify(column.name), isKey })
    }
    this.#columns = `[${described.join()}]`
    this.#shown = list
  }

  data({ kind, time, position, row, old, hasKeyOnly }: EventParts): string {
    const isTooLarge = (row?.bytes ?? 0) + (old?.bytes ?? 0) > mostBytes
    const record = kind === 'DELETE' ? '' : `,"record":${row ? this.#record(row, isTooLarge, false) : 'null'}`
    const oldRecord = kind === 'INSERT' ? '' : `,"old_record":${old ? this.#record(old, isTooLarge, hasKeyOnly) : '{}'}`
    const errors = isTooLarge ? '["Error 413: Payload Too Large"]' : 'null'
    return `${this.#head}"${kind}","commit_timestamp":"${time}","columns":${this.#columns}${record}${oldRecord},"errors":${errors},"position":"${position}"}`
  }

  fault({ kind, time, position }: Pick<EventParts, 'kind' | 'time' | 'position'>, fault: TableFault): string {
    const oldRecord = kind === 'UPDATE' ? ',"old_record":{}' : ''
    return `${this.#head}"${kind}","commit_timestamp":"${time}","columns":[],"record":{}${oldRecord},"errors":["${fault}"],"position":"${position}"}`
  }

  #record(row: LoggedRow, isTooLarge: boolean, hasKeyOnly: boolean): string {
    let text = '{'
    for (const { index, name, isKey } of this.#shown) {
      if ((hasKeyOnly && !isKey) || !row.isKnown(index)) continue
      const value = (this.#hasTextNumbers ? row.exactJson(index) : row.json(index)) ?? JSON.stringify(row.text(index))
      if (isTooLarge && Buffer.byteLength(value) > smallValue) continue
      text += text.length > 1 ? `,${name}:${value}` : `${name}:${value}`
    }
    return `${text}}`
  }
}
