// Looks things up in the catalogue for the lints.
import type { FunctionRow, PolicyCommand, PolicyRow, Relation, Role, Schema } from '../../catalogue/description.ts'
import { extentOf, mayExecute, mayUseSchema, type Privilege } from '../../catalogue/rights.ts'
import { identifier } from '../../text/sql-text.ts'
import type { ApiRole, CheckCatalogue } from './catalogue.ts'

/** Schemas that Supabase or extensions own, which most lints leave out. */
const supabaseSchemas = new Set(
  (
    '_timescaledb_cache _timescaledb_catalog _timescaledb_config _timescaledb_internal auth cron extensions graphql ' +
    'graphql_public information_schema net pgmq pgroonga pgsodium pgsodium_masks pgtle pgbouncer pg_catalog realtime ' +
    'repack storage supabase_functions supabase_migrations tiger topology vault'
  ).split(' '),
)

/** The roles that splinter knows. */
export const splinterRoles = ['anon', 'authenticated']

/** A privilege on a relation: `select` on all of it, the others on it or at least one of its columns. */
export type Right = Privilege | 'selectColumn'

export class SchemaView {
  readonly catalogue: CheckCatalogue
  readonly apiRoles: readonly ApiRole[]
  /** The role of requests without credentials, if requests can have it. */
  readonly anonymous: ApiRole | undefined
  readonly #relations: ReadonlyMap<number, Relation>
  readonly #functions: ReadonlyMap<number, FunctionRow>
  readonly #roles: ReadonlyMap<number, ApiRole>
  readonly #policies: ReadonlyMap<number, readonly PolicyRow[]>
  readonly #schemas: ReadonlyMap<string, Schema>
  /** What is behind relations: what views read, and the children of tables. */
  readonly #behind = new Map<number, number[]>()

  constructor(catalogue: CheckCatalogue) {
    this.catalogue = catalogue
    this.apiRoles = catalogue.roles.filter(({ isApi }) => isApi)
    this.anonymous = this.apiRoles.find(({ name }) => name === catalogue.anonymous)
    this.#relations = new Map(catalogue.relations.map((it) => [it.oid, it]))
    this.#functions = new Map(catalogue.functions.map((it) => [it.oid, it]))
    this.#roles = new Map(catalogue.roles.map((it) => [it.oid, it]))
    this.#schemas = new Map(catalogue.schemas.map((it) => [it.name, it]))
    const policies = new Map<number, PolicyRow[]>()
    for (const policy of catalogue.policies) {
      policies.set(policy.relation, [...(policies.get(policy.relation) ?? []), policy])
    }
    this.#policies = policies
    for (const { kind, relation, usesRelation } of catalogue.dependencies) {
      if (relation === null || usesRelation === null || (kind !== 'view' && kind !== 'child')) continue
      const known = this.#behind.get(relation)
      if (known) known.push(usesRelation)
      else this.#behind.set(relation, [usesRelation])
    }
  }

  relation(oid: number): Relation | undefined {
    return this.#relations.get(oid)
  }

  function(oid: number): FunctionRow | undefined {
    return this.#functions.get(oid)
  }

  role(oid: number): ApiRole | undefined {
    return this.#roles.get(oid)
  }

  policiesOf({ oid }: Pick<Relation, 'oid'>): readonly PolicyRow[] {
    return this.#policies.get(oid) ?? []
  }

  /** The relations that a view reads directly, and the partitions and children of a table, by oid. */
  behind(oid: number): readonly number[] {
    return this.#behind.get(oid) ?? []
  }

  /** Whether the schema is one of a project, not of Supabase or an extension. */
  isOwnSchema(schema: string): boolean {
    return !supabaseSchemas.has(schema)
  }

  isExposed(schema: string): boolean {
    return this.catalogue.exposedSchemas.includes(schema)
  }

  /** API roles with a privilege on the relation, whether or not they can use its schema, as splinter counts them. */
  grantees(relation: Relation, right: Right = 'select'): string[] {
    return this.apiRoles.filter((role) => this.hasRight(role, relation, right)).map(({ name }) => name)
  }

  /** Whether a role has a privilege on the relation, whether or not it can use its schema. */
  hasRight(role: Role, relation: Relation, right: Right): boolean {
    if (right === 'selectColumn') return extentOf(role, relation, 'select') !== null
    const extent = extentOf(role, relation, right)
    return right === 'select' ? extent === 'all' : extent !== null
  }

  /** Whether a role has a privilege on the relation and USAGE on its schema. */
  canUse(role: Role, relation: Relation, right: Right): boolean {
    return this.canUseSchema(role, relation.schema) && this.hasRight(role, relation, right)
  }

  /** Whether a role has USAGE on a schema. */
  canUseSchema(role: Role, schema: string): boolean {
    const found = this.#schemas.get(schema)
    return found !== undefined && mayUseSchema(role, found)
  }

  isSchema(name: string): boolean {
    return this.#schemas.has(name)
  }

  /** Names of API roles with EXECUTE. */
  executors(routine: FunctionRow): string[] {
    return this.apiRoles.filter((role) => mayExecute(role, routine)).map(({ name }) => name)
  }

  /** Whether the policies of the table apply to the role. */
  isSubjectTo({ oid, bypassesRls, memberOf }: Role, { owner, forcesRls }: Relation): boolean {
    return !bypassesRls && (forcesRls || (owner !== oid && !memberOf.includes(owner)))
  }

  /** The policies of a table that apply to a role and a command. */
  applying(relation: Relation, role: Role, command: Exclude<PolicyCommand, 'ALL'>): PolicyRow[] {
    return this.policiesOf(relation).filter(
      (policy) => (policy.command === 'ALL' || policy.command === command) && this.isFor(role, policy),
    )
  }

  /** Whether a policy applies to a role: directly, by membership, or because it is for PUBLIC. */
  isFor({ oid, memberOf }: Role, { roles }: PolicyRow): boolean {
    return roles.some((role) => role === 0 || role === oid || memberOf.includes(role))
  }

  /** Whether a view reads with the rights of the caller. */
  isInvoker({ options }: Relation): boolean {
    return options.some((option) => /^security_invoker=(?:1|true|yes|on)$/i.test(option))
  }

  /** Names of roles in SQL. */
  roleNames(oids: readonly number[]): string {
    return oids.map((oid) => (oid === 0 ? 'public' : identifier(this.role(oid)?.name ?? String(oid)))).join(', ')
  }
}
