// Which relations a change of a table, view, function or domain can affect, so that not all tests run against every mutant.
import { readPart, type Dependency, type FunctionRow, type Relation, type Role } from '../../catalogue/description.ts'
import { mentionsIn } from '../../catalogue/mentions.ts'
import type { RunOwnerQuery } from './callers.ts'
import type { Mutant } from './mutants.ts'

type Named = { readonly id: string; readonly schema: string; readonly name: string }
type Described = {
  readonly roles: readonly Pick<Role, 'oid' | 'isSuperuser'>[]
  readonly relations: readonly Pick<Relation, 'oid' | 'schema' | 'name'>[]
  readonly functions: readonly Pick<
    FunctionRow,
    'oid' | 'schema' | 'name' | 'language' | 'source' | 'isSecurityDefiner' | 'owner'
  >[]
  readonly dependencies: readonly Omit<Dependency, 'name' | 'runs'>[]
}

/** The relations, such as `public.tasks`, whose results may differ with a mutant. */
export type Affected = (
  mutant: Pick<Mutant, 'kind' | 'schema' | 'object' | 'tables' | 'command'>,
) => ReadonlySet<string>

/** Reads the dependencies of a database. */
export const readDependencies = async (query: RunOwnerQuery): Promise<Affected> =>
  dependenciesOf({
    roles: await readPart(query, 'roles', []),
    relations: await readPart(query, 'relations', []),
    functions: await readPart(query, 'functions'),
    dependencies: await readPart(query, 'dependencies'),
  })

/** Follows the catalogue and, for functions whose body is a text, the names in it. */
export function dependenciesOf(described: Described): Affected {
  const relations = described.relations.map((it) => ({ ...it, id: relationId(it.oid) }))
  const functions = described.functions
    .filter(({ language }) => language !== 'internal' && language !== 'c')
    .map((it) => ({ ...it, id: functionId(it.oid) }))
  const dependents = new Map<string, string[]>()
  const add = (dependent: string | undefined, origin: string | undefined): void => {
    if (dependent === undefined || origin === undefined) return
    const known = dependents.get(origin)
    if (known) known.push(dependent)
    else dependents.set(origin, [dependent])
  }
  for (const { kind, relation, function: caller, usesRelation, usesFunction } of described.dependencies) {
    const [dependent, origin] = [idOf(relation, caller), idOf(usesRelation, usesFunction)]
    add(dependent, origin)
    // Writes to a partition or a child go through its parent, and reads of the parent read it.
    if (kind === 'child') add(origin, dependent)
  }
  const idsByName = new Map<string, string[]>()
  for (const { id, name } of [...relations, ...functions]) idsByName.set(name, [...(idsByName.get(name) ?? []), id])
  for (const one of functions) for (const origin of mentioned(one, idsByName)) add(one.id, origin)
  const superusers = new Set(described.roles.filter(({ isSuperuser }) => isSuperuser).map(({ oid }) => oid))
  // Those that run with the rights of a superuser, so that no policy and no grant changes what they do.
  const unlimited = new Set(
    functions.filter(({ isSecurityDefiner, owner }) => isSecurityDefiner && superusers.has(owner)).map(({ id }) => id),
  )
  const tables = new Map(relations.map(({ id, schema, name }) => [id, `${schema}.${name}`]))
  return ({ kind, schema, object, tables: own, command }) => {
    const isStart = (it: Named): boolean =>
      kind === 'function' ? it.schema === schema && it.name === object : own.includes(`${it.schema}.${it.name}`)
    const starts = (kind === 'function' ? functions : relations).filter(isStart)
    // A constraint, which concerns no command, also applies to the writes of superusers.
    const isConstraint = kind !== 'function' && command === undefined
    const reached = new Set(starts.map(({ id }) => id))
    for (const id of reached) {
      for (const next of dependents.get(id) ?? []) if (isConstraint || !unlimited.has(next)) reached.add(next)
    }
    return new Set([...reached].flatMap((id) => tables.get(id) ?? []))
  }
}

const relationId = (oid: number): string => `r${oid}`
const functionId = (oid: number): string => `f${oid}`

function idOf(relation: number | null, routine: number | null): string | undefined {
  if (relation !== null) return relationId(relation)
  return routine === null ? undefined : functionId(routine)
}

/** The ids of what the body of a function may use: everything, if it composes statements or is in another language. */
function mentioned(
  { language, source }: Pick<FunctionRow, 'language' | 'source'>,
  idsByName: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  if (language !== 'sql' && language !== 'plpgsql') return [...idsByName.values()].flat()
  const names = new Set(mentionsIn(source).map(({ token }) => token.text))
  if (language === 'plpgsql' && names.has('execute')) return [...idsByName.values()].flat()
  return [...names].flatMap((name) => idsByName.get(name) ?? [])
}
