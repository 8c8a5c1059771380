// The names in a schema cache, by their likeness to a name that it does not have.
import { fuzzySet, type FuzzySet } from '../text/fuzzy-set.ts'
import { compareText } from '../text/code-point-order.ts'
import { qualifiedKey, type QualifiedIdentifier } from './identifier.ts'
import { relationshipKey, type Relationships } from './relationship.ts'
import type { Routines } from './routine.ts'
import type { Tables } from './table.ts'

/** Schemas with this many tables or more get no hints about tables. */
const tableLimit = 500

type NamedParts = { readonly tables: Tables; readonly relationships: Relationships; readonly routines: Routines }

/** A list of parameters as the sets of `parametersOf` have it. */
export const parameterList = (names: readonly string[]): string => `(${[...names].sort(compareText).join(', ')})`

/** Sets of names for hints in errors. Each is made when it is first needed, and lasts as long as its schema cache. */
export class NameIndex {
  readonly #tables: Tables
  readonly #relationships: Relationships
  readonly #routines: Routines
  readonly #tableSets = new Map<string, FuzzySet>()
  readonly #routineSets = new Map<string, FuzzySet>()
  readonly #childSets = new Map<string, FuzzySet>()
  readonly #parameterSets = new Map<string, FuzzySet>()

  constructor({ tables, relationships, routines }: NamedParts) {
    this.#tables = tables
    this.#relationships = relationships
    this.#routines = routines
  }

  /** Tables of a schema; an empty set when they are too many. */
  tablesOf(schema: string): FuzzySet {
    return madeOnce(this.#tableSets, schema, () => {
      const names = [...this.#tables.values()].filter((table) => table.schema === schema).map(({ name }) => name)
      return names.length < tableLimit ? names : []
    })
  }

  routinesOf(schema: string): FuzzySet {
    return madeOnce(this.#routineSets, schema, () =>
      [...this.#routines.values()].flatMap(([first]) => (first?.schema === schema ? [first.name] : [])),
    )
  }

  /** Relations of the same schema that are related to this one, which must have relationships: its set is kept. */
  relatedTo(relation: QualifiedIdentifier): FuzzySet {
    const key = relationshipKey(relation, relation.schema)
    return madeOnce(this.#childSets, key, () =>
      (this.#relationships.get(key) ?? []).map(({ foreignTable }) => foreignTable.name),
    )
  }

  /** The parameters of each function of that name, as `parameterList` writes them. */
  parametersOf({ schema, name }: QualifiedIdentifier): FuzzySet {
    const key = qualifiedKey(schema, name)
    return madeOnce(this.#parameterSets, key, () =>
      (this.#routines.get(key) ?? []).map(({ parameters }) => parameterList(parameters.map((one) => one.name))),
    )
  }
}

function madeOnce(sets: Map<string, FuzzySet>, key: string, names: () => readonly string[]): FuzzySet {
  let set = sets.get(key)
  if (!set) sets.set(key, (set = fuzzySet(names())))
  return set
}
