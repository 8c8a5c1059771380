// Which roles must be able to execute which functions, although no request names them: what policies, views, defaults, checks,
// indexes and triggers call is called with the rights of the role of the request, and so is what its functions call.
import type { Dependency, FunctionRow, Relation, Role } from '../../catalogue/description.ts'
import { mentionsIn, type Mention } from '../../catalogue/mentions.ts'
import { hasAnyRight, mayExecute } from '../../catalogue/rights.ts'
import type { SchemaView } from './schema-view.ts'

/** The relations that requests of a role reach, and whether it has a privilege on them itself. */
type Reach = ReadonlyMap<number, { readonly isDirect: boolean }>

export class FunctionNeeds {
  readonly #view: SchemaView
  readonly #byName = new Map<string, FunctionRow[]>()
  /** What functions call by the catalogue's dependencies. */
  readonly #dependencies = new Map<number, number[]>()
  readonly #calls = new Map<number, ReadonlySet<number>>()
  /** By role, then by function. */
  #needs: ReadonlyMap<number, ReadonlyMap<number, string>> | undefined

  constructor(view: SchemaView) {
    this.#view = view
    for (const it of view.catalogue.functions) this.#byName.set(it.name, [...(this.#byName.get(it.name) ?? []), it])
    for (const { function: caller, usesFunction: called } of view.catalogue.dependencies)
      if (caller !== null && called !== null)
        this.#dependencies.set(caller, [...(this.#dependencies.get(caller) ?? []), called])
  }

  /**
   * What calls a function with the rights of a role, in words; undefined if nothing is known to. Errs on the safe side: of
   * functions whose bodies are text, every mention of the name counts that may be a call.
   */
  reason(role: Role, { oid }: FunctionRow): string | undefined {
    this.#needs ??= this.#find()
    return this.#needs.get(role.oid)?.get(oid)
  }

  #find(): Map<number, Map<number, string>> {
    const { roles } = this.#view.catalogue
    const needs = new Map<number, Map<number, string>>()
    const open: { readonly role: number; readonly routine: FunctionRow }[] = []
    const add = (role: number, called: number, reason: string): void => {
      const routine = this.#view.function(called)
      const ofRole = needs.get(role) ?? new Map<number, string>()
      if (!routine || ofRole.has(called) || this.#view.role(role)?.isSuperuser === true) return
      needs.set(role, ofRole.set(called, reason))
      open.push({ role, routine })
    }
    for (const role of roles) {
      if (role.isSuperuser || role.name.startsWith('pg_')) continue
      this.#ofExpressions(role, (called, reason) => add(role.oid, called, reason))
      this.#ofSettings(role, (called, reason) => add(role.oid, called, reason))
      this.#ofFunctions(role, (called, reason) => add(role.oid, called, reason))
    }
    // What is needed calls further functions, as the role or as its own owner.
    for (let next = open.pop(); next; next = open.pop()) {
      const { role, routine } = next
      const caller = routine.isSecurityDefiner ? routine.owner : role
      for (const called of this.#callsOf(routine)) add(caller, called, asCaller(routine))
    }
    return needs
  }

  #ofExpressions(role: Role, add: (called: number, reason: string) => void): void {
    const reach = this.#reach(role)
    for (const use of this.#view.catalogue.dependencies) {
      // Every role that uses a domain needs the functions of its constraints, wherever its columns are.
      if (use.usesFunction === null || use.kind === 'function' || use.kind === 'domain') continue
      const relation = use.relation === null ? undefined : this.#view.relation(use.relation)
      if (this.#applies(use, role, reach)) add(use.usesFunction, asUse(use, relation))
    }
  }

  /** Whether an expression is evaluated for requests of a role. */
  #applies({ kind, name, relation }: Dependency, role: Role, reach: Reach): boolean {
    if (relation === null) return true
    const reached = reach.get(relation)
    if (kind !== 'policy') return reached !== undefined
    // Behind a view, the policies are those for its owner, but what they call is called as the role.
    if (reached?.isDirect === false) return true
    return this.#view.policiesOf({ oid: relation }).some((it) => it.name === name && this.#view.isFor(role, it))
  }

  #ofSettings(role: Role, add: (called: number, reason: string) => void): void {
    for (const { setting, schema, name, role: caller } of this.#view.catalogue.settingFunctions) {
      if (caller !== null && caller !== role.name) continue
      for (const it of this.#byName.get(name) ?? [])
        if (schema === null || it.schema === schema) add(it.oid, `the setting ${setting}`)
    }
  }

  #ofFunctions(role: Role, add: (called: number, reason: string) => void): void {
    for (const it of this.#view.catalogue.functions) {
      const isCaller = it.isSecurityDefiner ? it.owner === role.oid : mayExecute(role, it)
      if (isCaller) for (const called of this.#callsOf(it)) if (called !== it.oid) add(called, asCaller(it))
    }
  }

  /** Relations on which a role has a privilege, and those behind them: of views, and the children of tables. */
  #reach(role: Role): Reach {
    const reach = new Map<number, { isDirect: boolean }>()
    for (const it of this.#view.catalogue.relations) if (hasAnyRight(role, it)) reach.set(it.oid, { isDirect: true })
    // Iterating over a map includes what is added meanwhile.
    for (const [reached] of reach)
      for (const behind of this.#view.behind(reached)) if (!reach.has(behind)) reach.set(behind, { isDirect: false })
    return reach
  }

  /** The functions that a function may call, by the catalogue's dependencies and its text. */
  #callsOf(routine: FunctionRow): ReadonlySet<number> {
    const known = this.#calls.get(routine.oid)
    if (known) return known
    const { tree, source } = routine
    const byText =
      tree === null && !isCompiled(routine) ? mentionsIn(source).flatMap((mention) => this.#mentioned(mention)) : []
    const calls = new Set([...byText, ...(this.#dependencies.get(routine.oid) ?? [])])
    this.#calls.set(routine.oid, calls)
    return calls
  }

  #mentioned({ qualifier, token, kind }: Mention): number[] {
    if (kind === 'word' || kind === 'string') return []
    const isSchema = qualifier !== null && this.#view.isSchema(qualifier)
    return (this.#byName.get(token.text) ?? [])
      .filter((it) => (isSchema ? it.schema === qualifier : true) && (kind !== 'field' || it.arguments !== ''))
      .map(({ oid }) => oid)
  }
}

const isCompiled = ({ language }: FunctionRow): boolean => language === 'c' || language === 'internal'

const nameOf = ({ schema, name }: { readonly schema: string; readonly name: string }): string => `${schema}.${name}`

function asUse({ kind, name }: Dependency, relation: Relation | undefined): string {
  if (!relation) return kind === 'other' ? name : `the ${kind} ${name}`
  if (kind === 'view') return `the view ${nameOf(relation)}`
  return `the ${kind} ${name} of ${nameOf(relation)}`
}

const asCaller = (routine: FunctionRow): string => `the function ${nameOf(routine)}`
