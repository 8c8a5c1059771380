// Which relations a change of a table, view, function or domain can affect, so that not all tests run against every mutant.
import { decodeRow, introspectionQuery } from '../../catalogue/introspection.ts'
import type { RunOwnerQuery } from './callers.ts'
import type { Mutant } from './mutants.ts'

type Named = { readonly id: string; readonly schema: string; readonly name: string }
export type FunctionSource = Named & {
  readonly language: string
  /** Empty for a body that is not a text: the catalog has its dependencies. */
  readonly source: string
  readonly isUnlimited: boolean
}
export type Catalog = {
  readonly relations: readonly Named[]
  readonly functions: readonly FunctionSource[]
  /** Ids of a dependent object and of what it depends on. */
  readonly edges: readonly (readonly [string, string])[]
}

/** The relations, such as `public.tasks`, whose results may differ with a mutant. */
export type Affected = (
  mutant: Pick<Mutant, 'kind' | 'schema' | 'object' | 'tables' | 'command'>,
) => ReadonlySet<string>

/** Reads the dependencies of a database. */
export async function readDependencies(query: RunOwnerQuery): Promise<Affected> {
  const { text } = introspectionQuery('policy-test-dependencies')
  const [row] = await query(text, [])
  return dependenciesOf(row ? decodeRow<Catalog>(row) : { relations: [], functions: [], edges: [] })
}

/** Follows the catalog and, for functions whose body is a text, the names in it. */
export function dependenciesOf({ relations, functions, edges }: Catalog): Affected {
  const dependents = new Map<string, string[]>()
  const add = (dependent: string, origin: string): void => {
    const known = dependents.get(origin)
    if (known) known.push(dependent)
    else dependents.set(origin, [dependent])
  }
  for (const [dependent, origin] of edges) add(dependent, origin)
  const idsByName = new Map<string, string[]>()
  for (const { id, name } of [...relations, ...functions]) idsByName.set(name, [...(idsByName.get(name) ?? []), id])
  for (const one of functions) for (const origin of mentioned(one, idsByName)) add(one.id, origin)
  const unlimited = new Set(functions.filter(({ isUnlimited }) => isUnlimited).map(({ id }) => id))
  const tables = new Map(relations.map(({ id, schema, name }) => [id, `${schema}.${name}`]))
  return ({ kind, schema, object, tables: own, command }) => {
    const named = kind === 'function' ? functions.filter((it) => it.schema === schema && it.name === object) : []
    const starts = kind === 'function' ? named : relations.filter((it) => own.includes(`${it.schema}.${it.name}`))
    // A constraint, which concerns no command, also applies to the writes of superusers.
    const isConstraint = kind !== 'function' && command === undefined
    const reached = new Set(starts.map(({ id }) => id))
    for (const id of reached) {
      for (const next of dependents.get(id) ?? []) if (isConstraint || !unlimited.has(next)) reached.add(next)
    }
    return new Set([...reached].flatMap((id) => tables.get(id) ?? []))
  }
}

/** The ids of what the body of a function may use: everything, if it composes statements or is in another language. */
function mentioned(
  { language, source }: FunctionSource,
  idsByName: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const isComposed = language === 'plpgsql' && /\bexecute\b/i.test(source)
  if (isComposed || (language !== 'sql' && language !== 'plpgsql')) return [...idsByName.values()].flat()
  const words = new Set(source.match(/[\p{L}_][\p{L}\p{N}_$]*/gu)?.flatMap((word) => [word, word.toLowerCase()]))
  return [...idsByName].flatMap(([name, ids]) => {
    const isWord = /^[\p{L}_][\p{L}\p{N}_$]*$/u.test(name)
    return (isWord ? words.has(name) : source.includes(name.replaceAll('"', '""'))) ? ids : []
  })
}
