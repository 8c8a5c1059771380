// The values of a row of the log, as text and as JSON. Both are made at most once, however many subscribers the row has.
import { columnType, form, type ColumnType } from '../../../rest/encode/column-type.ts'
import { writeArray } from '../../../rest/encode/array.ts'
import { mostAdded, mostGrowth, writeValue } from '../../../rest/encode/value.ts'
import type { LogValue } from '../../../postgres/replication/log-transaction.ts'
import type { RelationColumn } from '../policies/relation-policies.ts'
import { rowText } from '../policies/row-check.ts'
import type { Value } from './filter.ts'

const bytea = 17
/** int8, numeric, and their arrays. */
const inexact: readonly number[] = [20, 1700, 1016, 1231]

/** How values of a column become JSON. */
export type ColumnForm = {
  /** Undefined: the database must convert the text. */
  readonly form: ColumnType | undefined
  readonly isBytea: boolean
  /** Whether it is a number that JavaScript may round. */
  readonly isInexact: boolean
}

export function columnForm({ baseType, ownForm }: RelationColumn): ColumnForm {
  const own = new Set([baseType])
  const none = new Set<number>()
  return {
    form: columnType(baseType, { types: ownForm === 'text' ? own : none, arrays: ownForm === 'array' ? own : none }),
    isBytea: baseType === bytea,
    isInexact: inexact.includes(baseType),
  }
}

const number = /^-?\d/

export class LoggedRow {
  readonly forms: readonly ColumnForm[]
  readonly values: readonly LogValue[]
  readonly #texts: Value[] = []
  #element: string | undefined
  readonly #jsons: (string | undefined)[] = []

  /** @param values in the order of the table's columns */
  constructor(forms: readonly ColumnForm[], values: readonly LogValue[]) {
    this.forms = forms
    this.values = values
  }

  /** Undefined if the log does not have the value. */
  text(index: number): Value {
    const value = this.values[index]
    if (value === undefined || value === null) return value
    return (this.#texts[index] ??= value.toString())
  }

  /** All values as text. */
  get texts(): Value[] {
    return this.values.map((_, index) => this.text(index))
  }

  /** The row as an element of an array in SQL. */
  get element(): string {
    return (this.#element ??= rowText(this.texts))
  }

  isKnown(index: number): boolean {
    return this.values[index] !== undefined
  }

  /** Whether the database must convert the value. */
  needsConversion(index: number): boolean {
    const value = this.values[index]
    return value !== undefined && value !== null && this.json(index) === undefined
  }

  /** The JSON text of a value, from `to_jsonb`. */
  setJson(index: number, json: string): void {
    this.#jsons[index] = json
  }

  /** The JSON text of a value that is known; undefined if the database must convert it. */
  json(index: number): string | undefined {
    return this.values[index] === null ? 'null' : (this.#jsons[index] ??= this.#encoded(index))
  }

  /** The same with a string in place of a number that JavaScript may round. */
  exactJson(index: number): string | undefined {
    const json = this.json(index)
    if (this.forms[index]?.isInexact !== true || json === undefined || json === 'null') return json
    if (!json.startsWith('[')) return json.startsWith('"') ? json : `"${json}"`
    return json.replace(/-?\d[\d.eE+-]*/g, '"$&"')
  }

  /** Bytes of the values. */
  get bytes(): number {
    return this.values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
  }

  /** The row with the values that are missing. */
  completed(values: readonly LogValue[]): LoggedRow {
    return new LoggedRow(
      this.forms,
      this.values.map((value, index) => (value === undefined ? values[index] : value)),
    )
  }

  #encoded(index: number): string | undefined {
    const { form: type, isBytea } = this.forms[index] ?? {}
    const text = this.text(index)
    const value = this.values[index]
    if (!type || typeof text !== 'string' || !value) return undefined
    if (isBytea === true) return JSON.stringify(text.replace(/^\\x/, ''))
    if (type.isArray) return written(type, value)
    switch (type.form) {
      case form.text:
      case form.plain:
        return JSON.stringify(text)
      case form.number:
        return number.test(text) ? text : JSON.stringify(text)
      case form.boolean:
        return text.startsWith('t') ? 'true' : 'false'
      case form.json:
        return text
      default:
        return written(type, value)
    }
  }
}

function written({ form: kind, isArray }: ColumnType, value: Buffer): string | undefined {
  const target = Buffer.allocUnsafe(value.length * mostGrowth + mostAdded + value.length * 4)
  const write = isArray ? writeArray : writeValue
  const end = write(kind, target, 0, value, 0, value.length)
  return end < 0 ? undefined : target.toString('utf8', 0, end)
}
