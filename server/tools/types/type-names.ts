// TypeScript types of PostgreSQL's types.
import type { Catalogue, NamedType, PostgresType, TypedRelation } from './catalogue.ts'
import { arrayOf, literals, quoted, type Type } from './source.ts'

const basicTypes: ReadonlyMap<string, string> = new Map([
  ['bool', 'boolean'],
  ...['int2', 'int4', 'int8', 'float4', 'float8', 'numeric'].map((name) => [name, 'number'] as const),
  ...[
    'bytea',
    'bpchar',
    'varchar',
    'text',
    'citext',
    'uuid',
    'vector',
    'date',
    'time',
    'timetz',
    'timestamp',
    'timestamptz',
    'interval',
  ].map((name) => [name, 'string'] as const),
  ['json', 'Json'],
  ['jsonb', 'Json'],
  ['void', 'undefined'],
  ['record', 'Record<string, unknown>'],
])

/** The member of a schema in the generated type `Database`. */
const member = ({ schema, name }: { schema: string; name: string }, group: string): string =>
  `Database[${quoted(schema)}][${quoted(group)}][${quoted(name)}]`

/** Finds the TypeScript type of PostgreSQL's types: types of the database by their oids, since names may occur in several schemas. */
export class TypeNames {
  readonly #printed: ReadonlySet<string>
  readonly #named: ReadonlyMap<number, NamedType>
  readonly #rows: ReadonlyMap<number, TypedRelation>

  constructor({ schemas, relations, namedTypes }: Catalogue) {
    this.#printed = new Set(schemas)
    this.#named = new Map(namedTypes.map((type) => [type.oid, type]))
    this.#rows = new Map(relations.map((relation) => [relation.rowType, relation]))
  }

  /** The TypeScript type; that of a domain is the one that it is declared with. `unknown` for what has none, such as ranges. */
  of({ oid, name, isArray }: PostgresType): Type {
    const named = this.#named.get(oid)
    const type = named ? this.#userDefined(named) : (this.#row(oid) ?? basicTypes.get(name) ?? 'unknown')
    return isArray ? arrayOf(type) : type
  }

  #userDefined(type: NamedType): Type {
    if (type.base !== null) return this.of(type.base)
    const isPrinted = this.#printed.has(type.schema)
    if (type.values !== null) return isPrinted ? member(type, 'Enums') : literals(type.values)
    return isPrinted ? member(type, 'CompositeTypes') : 'unknown'
  }

  #row(oid: number): Type | undefined {
    const relation = this.#rows.get(oid)
    if (relation?.kind === 'table') return `${member(relation, 'Tables')}["Row"]`
    return relation?.kind === 'view' ? `${member(relation, 'Views')}["Row"]` : undefined
  }
}
