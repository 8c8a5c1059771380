// The types of functions: arguments, results, overloads, and the fields that they compute for rows.
import {
  compareNames,
  type Catalogue,
  type TypedArgument,
  type TypedFunction,
  type TypedRelation,
} from './catalogue.ts'
import type { ColumnTypes } from './column-types.ts'
import { conflictOf, isRowArgument, type Callable } from './overload-conflict.ts'
import { arrayOf, inlineObject, openObject, property, quoted, union, type Member, type Type } from './source.ts'
import type { TypeNames } from './type-names.ts'

/** A field that a function computes for the rows of a relation. */
export type ComputedField = { readonly name: string; readonly type: Type }

/** Types of a single unnamed argument that takes the whole body. */
const bodyTypes: ReadonlySet<string> = new Set(['json', 'jsonb', 'text'])

/** Types of the functions of all schemas. */
export class FunctionTypes {
  readonly #names: TypeNames
  readonly #columns: ColumnTypes
  readonly #relations: ReadonlyMap<string, TypedRelation>
  readonly #bySchema = new Map<string, Callable[]>()

  constructor({ schemas, relations, functions }: Catalogue, names: TypeNames, columns: ColumnTypes) {
    this.#names = names
    this.#columns = columns
    this.#relations = new Map(relations.map((relation) => [relation.oid, relation] as const))
    for (const schema of schemas) this.#bySchema.set(schema, [])
    for (const definition of functions) {
      const callable = this.#callable(definition)
      if (isCallable(callable)) this.#bySchema.get(definition.schema)?.push(callable)
    }
    for (const callables of this.#bySchema.values()) callables.sort((a, b) => compareNames(a.name, b.name))
  }

  /** The functions of a schema as properties, each with the union of its overloads. */
  ofSchema(schema: string): Member[] {
    const callables = this.#bySchema.get(schema) ?? []
    return [...new Set(callables.map(({ name }) => name))].map((name) => {
      const overloads = callables
        .filter((it) => it.name === name)
        .sort(
          ({ signature: a }, { signature: b }) =>
            compareNames(a.arguments, b.arguments) || compareNames(a.result, b.result),
        )
      return property(name, union(overloads.map((it) => this.#overload(it, overloads))))
    })
  }

  /** The fields that functions compute for the rows of a relation: those with its row as their only, unnamed argument. */
  computedFields(relation: TypedRelation): ComputedField[] {
    const isComputed = ({ arguments: all, returns }: Callable): boolean => {
      // Several rows of a type that is no relation are neither a value nor something to embed.
      if (returns.isSet && returns.relation?.isComposite === true) return false
      const [first, ...others] = all.filter(({ mode }) => mode !== 'table')
      return (
        first?.mode === 'in' &&
        others.length === 0 &&
        first.name === '' &&
        !first.hasDefault &&
        first.relation?.oid === relation.oid
      )
    }
    return (this.#bySchema.get(relation.schema) ?? [])
      .filter(isComputed)
      .map((callable) => ({ name: callable.name, type: this.#result(callable) }))
  }

  #callable(definition: TypedFunction): Callable {
    const sorted = [...definition.arguments].sort((a, b) => compareNames(a.name, b.name))
    const { relation } = definition.returns
    // Rows of a foreign table of another schema have no name that a client could use.
    const isNamed = relation !== null && (!relation.isForeign || this.#relations.has(relation.oid))
    return {
      ...definition,
      arguments: sorted,
      inputs: sorted.filter(({ mode }) => mode === 'in' || mode === 'inout' || mode === 'variadic'),
      rowName: isNamed ? relation.name : null,
    }
  }

  #overload(callable: Callable, overloads: readonly Callable[]): Type {
    const { inputs, returns } = callable
    const given = inputs.map(({ name, type, hasDefault }) => property(name, this.#names.of(type), hasDefault))
    const conflict = conflictOf(callable, overloads)

    const isMany = returns.isSet && (returns.rows > 1 || callable.rowName === null)
    const asSet = (type: Type): Type => (isMany ? arrayOf(type) : type)
    return inlineObject([
      property('Args', given.length === 0 ? 'never' : inlineObject(given)),
      property('Returns', conflict === null ? asSet(this.#result(callable)) : failure(asSet(quoted(conflict)))),
      ...setOptions(callable),
    ])
  }

  /** The type of the result, without the array of a set. */
  #result({ schema, arguments: all, returns }: Callable): Type {
    const columns = all.filter(({ mode }) => mode === 'table')
    if (columns.length > 0) {
      return openObject(columns.map(({ name, type }) => property(name, this.#names.of(type))))
    }
    const relation = returns.relation && this.#relations.get(returns.relation.oid)
    if (relation?.schema === schema) return openObject(this.#columns.row(relation))
    return this.#names.of(returns.type)
  }
}

/** A type that no result has, which the compiler shows with the reason. */
const failure = (reason: Type): Type => ({
  kind: 'intersection',
  left: inlineObject([property('error', 'true')]),
  right: reason,
})

/** Whether clients can call the function: an unnamed argument takes the whole body, or the row that a field belongs to. */
function isCallable({ inputs }: Callable): boolean {
  const takesBody = ({ typeName }: TypedArgument): boolean => bodyTypes.has(typeName)
  const [only, ...others] = inputs
  return (
    inputs.every((argument) => argument.name !== '' || (argument.hasDefault && takesBody(argument))) ||
    (only !== undefined && others.length === 0 && (takesBody(only) || isRowArgument(only)))
  )
}

/** Where embeds in the result lead, and whether the result is a row or a set. */
function setOptions({ arguments: all, rowName, returns, signature }: Callable): Member[] {
  if (rowName === null) return []
  const [only, ...others] = all
  const from = only && others.length === 0 && isRowArgument(only) ? signature.argumentType : '*'
  const options = [
    property('from', quoted(from)),
    property('to', quoted(rowName)),
    property('isOneToOne', String(!returns.isSet || returns.rows <= 1)),
    property('isSetofReturn', String(returns.isSet)),
  ]
  return [property('SetofOptions', openObject(options))]
}
