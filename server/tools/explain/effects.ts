// Finds out whether a statement may have effects that a rollback does not undo. Like the analysis for shared connections,
// it trusts functions that are declared stable or immutable. Volatile functions, which that analysis always refuses, are
// followed into their bodies: what they call, the tables they name, and the triggers of these.
import { isHarmless, sequencesAdvance } from './harmless-functions.ts'
import type { Dependency } from '../../catalogue/description.ts'
import { mentionsIn } from '../../catalogue/mentions.ts'
import { tokensOf, type Token } from '../../text/sql-tokens.ts'

type Function = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly arguments: string
  readonly language: string
  readonly isBuiltIn: boolean
  readonly extension: string | null
  /** The body, if the language is `sql` or `plpgsql`. */
  readonly source: string | null
}

type Relation = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly isForeign: boolean
  readonly hasSequence: boolean
}

/** The result of `explained-effects.sql`, and the dependencies. Functions are the volatile ones only. */
export type EffectsCatalogue = {
  readonly functions: readonly Function[]
  readonly relations: readonly Relation[]
  readonly eventTriggers: readonly { readonly name: string; readonly function: number }[]
  readonly implicit: readonly number[]
  readonly aggregates: readonly { readonly name: string; readonly function: number }[]
  readonly dependencies: readonly Dependency[]
}

export type Effect = {
  /** The function or relation that causes it, such as `public.notify_partner()`. */
  readonly object: string
  readonly reason: string
  /** How the statement reaches it, from the outside to the inside. */
  readonly through: readonly string[]
}

export type Effects = {
  /** Effects that a rollback may not undo. The statement must not run. */
  readonly refused: readonly Effect[]
  /** Effects that remain and do no harm, as sentences. */
  readonly remaining: readonly string[]
}

export type EffectsQuestion = {
  /** Texts of the statements that will run. Functions in them are found by their names. */
  readonly statements: readonly string[]
  /** Relations that are read and written, by `schema.name`. */
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** Names of functions, with or without schema, whose effects are accepted. */
  readonly trusted: readonly string[]
}

/** The effects of statements that run in a transaction which is rolled back. */
export function effectsOf(catalogue: EffectsCatalogue, question: EffectsQuestion): Effects {
  const walk = new Walk(catalogue, question.trusted)
  for (const text of question.statements) walk.text(text, [], false)
  for (const oid of catalogue.implicit) walk.functionOf(oid, ['an operator, cast or type'])
  for (const name of question.reads) walk.named(name, false)
  for (const name of question.writes) walk.named(name, true)
  return { refused: walk.refused, remaining: [...walk.remaining] }
}

/** Words that only occur in commands which change the schema, for which event triggers run. */
const schemaCommands: ReadonlySet<string> = new Set(['create', 'alter', 'drop', 'grant', 'revoke', 'comment'])

class Walk {
  readonly refused: Effect[] = []
  readonly remaining = new Set<string>()
  readonly #catalogue: EffectsCatalogue
  readonly #trusted: ReadonlySet<string>
  readonly #functions: ReadonlyMap<number, Function>
  readonly #byName = new Map<string, Function[]>()
  readonly #relations: ReadonlyMap<number, Relation>
  readonly #relationsByName = new Map<string, Relation[]>()
  readonly #aggregates = new Map<string, number[]>()
  /** What functions and parts of relations use. */
  readonly #ofFunctions = new Map<number, Dependency[]>()
  readonly #ofRelations = new Map<number, Dependency[]>()
  /** Functions and relations that were followed: `oid`, `oid read`, `oid write`. */
  readonly #seen = new Set<string>()

  constructor(catalogue: EffectsCatalogue, trusted: readonly string[]) {
    this.#catalogue = catalogue
    this.#trusted = new Set(trusted)
    this.#functions = new Map(catalogue.functions.map((it) => [it.oid, it]))
    this.#relations = new Map(catalogue.relations.map((it) => [it.oid, it]))
    for (const it of catalogue.functions) add(this.#byName, it.name, it)
    for (const it of catalogue.relations) add(this.#relationsByName, it.name, it)
    for (const it of catalogue.aggregates) add(this.#aggregates, it.name, it.function)
    for (const it of catalogue.dependencies) {
      if (it.function !== null) add(this.#ofFunctions, it.function, it)
      if (it.relation !== null) add(this.#ofRelations, it.relation, it)
    }
  }

  /**
   * Follows everything that a text names.
   *
   * @param isBody whether it is the body of a function, which may write to the relations that it names
   */
  text(text: string, through: readonly string[], isBody: boolean): void {
    for (const { token, kind } of mentionsIn(text, 0)) {
      for (const named of this.#byName.get(token.text) ?? []) {
        // Built-in functions are only called by name and arguments; a user's function also as `row.function`.
        if (!named.isBuiltIn || kind === 'call') this.#function(named, through)
      }
      for (const oid of this.#aggregates.get(token.text) ?? []) this.functionOf(oid, through)
      if (!isBody) continue
      for (const relation of this.#relationsByName.get(token.text) ?? []) this.#relation(relation, true, through)
      if (token.kind === 'word' && schemaCommands.has(token.text)) {
        for (const { name, function: oid } of this.#catalogue.eventTriggers) {
          this.functionOf(oid, [...through, `event trigger ${name}`])
        }
      }
    }
  }

  named(qualifiedName: string, isWrite: boolean): void {
    for (const relation of this.#relations.values()) {
      if (`${relation.schema}.${relation.name}` === qualifiedName) this.#relation(relation, isWrite, [])
    }
  }

  functionOf(oid: number, through: readonly string[]): void {
    const found = this.#functions.get(oid)
    if (found) this.#function(found, through)
  }

  #refuse(object: string, reason: string, through: readonly string[]): void {
    this.refused.push({ object, reason, through })
  }

  #function(called: Function, through: readonly string[]): void {
    const { schema, name, isBuiltIn, extension, language, source } = called
    // It does not distinguish functions of the same name. One stands for all that are not followed any further.
    const isLibrary = isBuiltIn || extension !== null
    const key = isLibrary ? `${schema}.${name}` : String(called.oid)
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    const object = `${isBuiltIn ? '' : `${schema}.`}${name}(${isLibrary ? '' : called.arguments})`
    if (this.#trusted.has(name) || this.#trusted.has(`${schema}.${name}`)) return
    if (isLibrary) {
      const verdict = isHarmless(name, extension)
      if (verdict === false) {
        const owner = extension === null ? '' : ` of the extension ${extension}`
        this.#refuse(object, `this function${owner} may act outside the transaction`, through)
      } else if (typeof verdict === 'string') this.remaining.add(verdict)
      return
    }
    if (source === null) {
      return this.#refuse(object, `its language, ${language}, cannot be analysed`, through)
    }
    const inside = [...through, object]
    const command = outsideCommand(tokensOf(source), language)
    if (command !== undefined) this.#refuse(object, command, through)
    this.text(source, inside, true)
    for (const dependency of this.#ofFunctions.get(called.oid) ?? []) this.#used(dependency, true, inside)
  }

  #relation(relation: Relation, isWrite: boolean, through: readonly string[]): void {
    const key = `${relation.oid} ${isWrite ? 'write' : 'read'}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    const object = `${relation.schema}.${relation.name}`
    if (relation.isForeign) {
      return this.#refuse(object, 'this is a foreign table: its server does not take part in the transaction', through)
    }
    if (isWrite && relation.hasSequence) this.remaining.add(sequencesAdvance)
    for (const dependency of this.#ofRelations.get(relation.oid) ?? []) {
      const { kind, runs } = dependency
      if (runs === 'never' || (runs === 'on write' && !isWrite)) continue
      this.#used(dependency, isWrite && passWrites.has(kind), [...through, partOf(dependency, object)])
    }
  }

  #used({ usesFunction, usesRelation }: Dependency, isWrite: boolean, through: readonly string[]): void {
    if (usesFunction !== null) this.functionOf(usesFunction, through)
    const relation = usesRelation === null ? undefined : this.#relations.get(usesRelation)
    if (relation) this.#relation(relation, isWrite, through)
  }
}

/** By which a write to a relation also writes to another one. A write to a view is a write to its table. */
const passWrites: ReadonlySet<Dependency['kind']> = new Set(['view', 'cascade', 'child'])

function partOf({ kind, name }: Dependency, object: string): string {
  if (kind === 'view') return `view ${object}`
  if (kind === 'cascade' || kind === 'child') return `cascade from ${object}`
  return `${kind}${kind === 'default' || kind === 'domain' ? ' of' : ''} ${name} on ${object}`
}

/** Why a body has commands whose effects cannot be known, or are not undone; undefined if it has none. */
function outsideCommand(tokens: readonly Token[], language: string): string | undefined {
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'word') continue
    const next = tokens[index + 1]
    const before = tokens[index - 1]
    const begins = before === undefined || [';', 'then', 'else', 'loop', 'begin', '>>'].includes(before.text)
    // `grant execute on`, `revoke execute on`, and triggers that `execute function`.
    const isPrivilege = before?.text === 'grant' || before?.text === 'revoke'
    const isTrigger = next?.text === 'function' || next?.text === 'procedure'
    if (text === 'execute' && language === 'plpgsql' && !isPrivilege && !isTrigger) {
      return 'it runs SQL that it composes at run time (EXECUTE)'
    }
    if (text === 'copy' && (begins || next?.text === '(')) return 'COPY may read and write files of the server'
    if (text === 'do' && next?.kind === 'string') return 'it runs an anonymous block (DO)'
    if (text === 'load' && next?.kind === 'string') return 'it loads a library (LOAD)'
  }
  return undefined
}

function add<K, T>(map: Map<K, T[]>, key: K, value: T): void {
  const known = map.get(key)
  if (known) known.push(value)
  else map.set(key, [value])
}
