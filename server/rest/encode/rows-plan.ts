// The form of a statement that returns the rows of the response, for all requests of one shape.
import type { TextTypes } from '../../catalogue/schema-cache.ts'
import type { ColumnDescription, RowsPlan } from '../row-transfer.ts'
import type { RowsForm } from '../sql/rows.ts'
import { RowEncoder } from './row-encoder.ts'

/** Encoders of different columns that are kept: there are several only if types or columns have changed. */
const mostKept = 4

type Kept = { readonly columns: readonly ColumnDescription[]; readonly encoder: RowEncoder | undefined }

export class SharedRowsPlan implements RowsPlan {
  readonly text: string
  readonly mayFailAlone: boolean
  readonly isOnlyForm: boolean
  readonly isLoud: boolean
  readonly #form: RowsForm
  readonly #types: TextTypes
  #kept: readonly Kept[] = []
  #isRefused = false

  /** @param types those of the schema cache */
  constructor(text: string, form: RowsForm, types: TextTypes) {
    this.text = text
    this.mayFailAlone = form.cutAt !== undefined || form.isListed === true
    this.isOnlyForm = form.isOnlyForm === true
    this.isLoud = form.isLoud === true
    this.#form = form
    this.#types = types
  }

  get isRefused(): boolean {
    return this.#isRefused
  }

  refuse(): void {
    this.#isRefused = true
  }

  encoderOf(columns: readonly ColumnDescription[]): RowEncoder | undefined {
    const known = this.#kept.find((kept) => isSame(kept.columns, columns))
    if (known) return known.encoder
    const encoder = RowEncoder.of(this.#form, columns, this.#types)
    this.#kept = [{ columns, encoder }, ...this.#kept.slice(0, mostKept - 1)]
    return encoder
  }
}

const isSame = (one: readonly ColumnDescription[], other: readonly ColumnDescription[]): boolean =>
  one.length === other.length &&
  one.every(({ name, type }, index) => other[index]?.type === type && other[index].name.equals(name))
