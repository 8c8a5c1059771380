// Looks things up in the catalogue for the lints.
import { identifier } from '../../text/sql-text.ts'
import type { CheckCatalogue, FunctionRow, Grants, PolicyCommand, PolicyRow, Relation, Role } from './catalogue.ts'

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

export class SchemaView {
  readonly catalogue: CheckCatalogue
  readonly apiRoles: readonly Role[]
  readonly #relations: ReadonlyMap<number, Relation>
  readonly #functions: ReadonlyMap<number, FunctionRow>
  readonly #roles: ReadonlyMap<number, Role>
  readonly #policies: ReadonlyMap<number, readonly PolicyRow[]>

  constructor(catalogue: CheckCatalogue) {
    this.catalogue = catalogue
    this.apiRoles = catalogue.roles.filter(({ isApi }) => isApi)
    this.#relations = new Map(catalogue.relations.map((it) => [it.oid, it]))
    this.#functions = new Map(catalogue.functions.map((it) => [it.oid, it]))
    this.#roles = new Map(catalogue.roles.map((it) => [it.oid, it]))
    const policies = new Map<number, PolicyRow[]>()
    for (const policy of catalogue.policies) {
      policies.set(policy.relation, [...(policies.get(policy.relation) ?? []), policy])
    }
    this.#policies = policies
  }

  relation(oid: number): Relation | undefined {
    return this.#relations.get(oid)
  }

  function(oid: number): FunctionRow | undefined {
    return this.#functions.get(oid)
  }

  role(oid: number): Role | undefined {
    return this.#roles.get(oid)
  }

  policiesOf({ oid }: Relation): readonly PolicyRow[] {
    return this.#policies.get(oid) ?? []
  }

  /** Whether the schema is one of a project, not of Supabase or an extension. */
  isOwnSchema(schema: string): boolean {
    return !supabaseSchemas.has(schema)
  }

  isExposed(schema: string): boolean {
    return this.catalogue.exposedSchemas.includes(schema)
  }

  /** API roles with a privilege on the relation, whether or not they can use its schema, as splinter counts them. */
  grantees({ grants }: Relation, privilege: keyof Grants = 'select'): string[] {
    return this.apiRoles.filter(({ name }) => grants[name]?.[privilege] === true).map(({ name }) => name)
  }

  /** Whether a role has a privilege on the relation and USAGE on its schema. */
  canUse(
    role: Role,
    { grants }: Relation,
    privilege: 'select' | 'selectColumn' | 'insert' | 'update' | 'delete',
  ): boolean {
    const granted = grants[role.name]
    return granted !== undefined && granted.usage && granted[privilege]
  }

  /** Whether the policies of the table apply to the role. */
  isSubjectTo({ oid, bypassesRls, memberOf }: Role, { owner, forcesRls }: Relation): boolean {
    return !bypassesRls && (forcesRls || (owner !== oid && !memberOf.includes(owner)))
  }

  /** The policies of a table that apply to a role and a command. */
  applying(relation: Relation, { oid, memberOf }: Role, command: Exclude<PolicyCommand, 'ALL'>): PolicyRow[] {
    return this.policiesOf(relation).filter(
      (policy) =>
        (policy.command === 'ALL' || policy.command === command) &&
        policy.roles.some((role) => role === 0 || role === oid || memberOf.includes(role)),
    )
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
