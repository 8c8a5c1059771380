// TypeScript types of PostgreSQL's types.
import type { Catalogue, NamedType, PostgresType, TypedRelation } from './catalogue.ts'
import { arrayOf, literals, quoted, type Type } from './source.ts'

const basicTypes: ReadonlyMap<string, string> = new Map([
  ['bool', 'boolean'],
  ...['int2', 'int4', 'int8', 'float4', 'float8', 'numeric'].map((name) => [name, 'number'] as const),
  ...[
    ...['bytea', 'bpchar', 'varchar', 'text', 'citext', 'uuid', 'vector'],
    ...['date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval'],
  ].map((name) => [name, 'string'] as const),
  ['json', 'Json'],
  ['jsonb', 'Json'],
  ['void', 'undefined'],
  ['record', 'Record<string, unknown>'],
])

/** The member of a schema in the generated type `Database`. */
const member = ({ schema, name }: { schema: string; name: string }, group: string): string =>
  `Database[${quoted(schema)}][${quoted(group)}][${quoted(name)}]`

/** Finds the TypeScript type of PostgreSQL's types by their names, as Supabase's generator does. */
export class TypeNames {
  readonly #printed: ReadonlySet<string>
  readonly #enums: ReadonlyMap<string, readonly NamedType[]>
  readonly #composites: ReadonlyMap<string, readonly NamedType[]>
  readonly #tables: ReadonlyMap<string, readonly TypedRelation[]>
  readonly #views: ReadonlyMap<string, readonly TypedRelation[]>

  constructor({ schemas, relations, namedTypes }: Catalogue) {
    this.#printed = new Set(schemas)
    this.#enums = byName(namedTypes.filter(({ values }) => values !== null))
    this.#composites = byName(namedTypes.filter(({ attributes }) => attributes !== null))
    this.#tables = byName(relations.filter(({ kind }) => kind === 'table'))
    this.#views = byName(relations.filter(({ kind }) => kind === 'view'))
  }

  /**
   * The TypeScript type. `unknown` for what has none, such as ranges, and for domains.
   *
   * @param schema the schema that is searched first for types by that name
   */
  of({ name, isArray }: PostgresType, schema: string): Type {
    const type = basicTypes.get(name) ?? this.#userDefined(name, schema)
    return isArray ? arrayOf(type) : type
  }

  #userDefined(name: string, schema: string): Type {
    const choose = <T extends { readonly schema: string }>(types: ReadonlyMap<string, readonly T[]>): T | undefined => {
      const found = types.get(name)
      return found?.find((type) => type.schema === schema) ?? found?.[0]
    }
    const enumType = choose(this.#enums)
    if (enumType) return this.#isPrinted(enumType) ? member(enumType, 'Enums') : literals(enumType.values ?? [])
    const composite = choose(this.#composites)
    if (composite) return this.#isPrinted(composite) ? member(composite, 'CompositeTypes') : 'unknown'
    const table = choose(this.#tables)
    if (table) return `${member(table, 'Tables')}["Row"]`
    const view = choose(this.#views)
    return view ? `${member(view, 'Views')}["Row"]` : 'unknown'
  }

  #isPrinted({ schema }: { readonly schema: string }): boolean {
    return this.#printed.has(schema)
  }
}

function byName<T extends { readonly name: string }>(items: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(item.name)
    if (group) group.push(item)
    else groups.set(item.name, [item])
  }
  return groups
}
