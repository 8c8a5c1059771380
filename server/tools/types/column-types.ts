// The types of the columns of tables and views.
import { compareNames, type TypedColumn, type TypedRelation } from './catalogue.ts'
import type { JsonColumnTypes } from './json-columns.ts'
import { orNull, property, type Member, type Type } from './source.ts'
import type { TypeNames } from './type-names.ts'

export const isView = ({ kind }: TypedRelation): boolean => kind === 'view' || kind === 'materialized view'

/** The types of the columns of relations. */
export class ColumnTypes {
  readonly #names: TypeNames
  readonly #json: JsonColumnTypes

  constructor(names: TypeNames, json: JsonColumnTypes) {
    this.#names = names
    this.#json = json
  }

  /** The columns of a relation as properties of a row. Every column of a view may be null. */
  row(relation: TypedRelation): Member[] {
    return sorted(relation).map((column) =>
      property(column.name, this.#type(relation, column, isView(relation) || column.isNullable)),
    )
  }

  /** The columns of a table that an INSERT may or must set. */
  insert(table: TypedRelation): Member[] {
    return sorted(table).map((column) =>
      isSetByDatabase(column)
        ? forbidden(column)
        : property(
            column.name,
            this.#type(table, column, column.isNullable),
            column.isNullable || column.identity !== null || column.hasDefault,
          ),
    )
  }

  /** The columns of a table that an UPDATE may set. */
  update(table: TypedRelation): Member[] {
    return sorted(table).map((column) =>
      isSetByDatabase(column)
        ? forbidden(column)
        : property(column.name, this.#type(table, column, column.isNullable), true),
    )
  }

  /** The columns of an updatable view that an INSERT or UPDATE may set. */
  write(view: TypedRelation): Member[] {
    return sorted(view).map((column) =>
      column.isUpdatable ? property(column.name, this.#type(view, column, true), true) : forbidden(column),
    )
  }

  #type(relation: TypedRelation, { name, type }: TypedColumn, isNullable: boolean): Type {
    const narrowed = this.#names.of(type)
    return orNull(narrowed === 'Json' ? this.#json.typeOf(relation, name) : narrowed, isNullable)
  }
}

/** Whether statements cannot set the column. */
const isSetByDatabase = ({ identity, isGenerated }: TypedColumn): boolean => identity === 'always' || isGenerated

const sorted = ({ columns }: TypedRelation): TypedColumn[] => [...columns].sort((a, b) => compareNames(a.name, b.name))

const forbidden = ({ name }: TypedColumn): Member => property(name, 'never', true)
