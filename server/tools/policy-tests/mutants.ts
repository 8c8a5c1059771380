// Mutants: one change of the access rules each, which tests should notice.
import { decodeRow, introspectionQuery } from '../../catalogue/introspection.ts'
import type { RunOwnerQuery } from './callers.ts'
import { withoutConjuncts } from '../../catalogue/printed-condition.ts'

export type Mutant = {
  /** Unique and stable, on one line: `public.tasks: policy "own tasks": using true`. */
  readonly id: string
  readonly schema: string
  /** Table, view, function or domain. */
  readonly object: string
  readonly kind: 'relation' | 'function' | 'domain'
  /** The tables that use a domain, such as `public.tasks`; otherwise the object itself. */
  readonly tables: readonly string[]
  readonly command: 'select' | 'insert' | 'update' | 'delete' | 'all' | undefined
  /** Roles that notice the change, "public" for all; null for all roles, also those that bypass row-level security. */
  readonly roles: readonly string[] | null
  /** Whether roles that bypass row-level security notice nothing. */
  readonly isOfRows: boolean
  readonly sql: readonly string[]
}

type PolicyFields = {
  readonly command: 'select' | 'insert' | 'update' | 'delete' | 'all'
  readonly isPermissive: boolean
  readonly roles: readonly string[]
  readonly isPublic: boolean
  readonly using: string | null
  readonly check: string | null
}
type Grant = { readonly role: string; readonly privilege: 'select' | 'insert' | 'update' | 'delete' }
type TableFields = {
  readonly isTable: boolean
  readonly isSecured: boolean
  readonly lacking: readonly Grant[]
  /** Privileges on the table or on some of its columns. */
  readonly held: readonly Grant[]
  readonly granted: readonly Grant[]
  readonly grantedColumns: readonly (Grant & { readonly column: string })[]
}
type FunctionFields = { readonly lacking: readonly string[]; readonly granted: readonly string[] }
type Found = { readonly schema: string; readonly relation: string; readonly name: string } & (
  | { readonly kind: 'policy'; readonly fields: PolicyFields }
  | { readonly kind: 'table'; readonly fields: TableFields }
  | { readonly kind: 'function'; readonly fields: FunctionFields }
  | { readonly kind: 'constraint'; readonly fields: { readonly definition: string } }
  | { readonly kind: 'domain'; readonly fields: { readonly tables: readonly string[] } }
)

/** Policies, grants and check constraints of schemas. */
export type AccessRules = readonly Found[]

/** Reads the rules that mutants change. Call it with an empty `search_path`, which makes expressions independent of it. */
export async function readAccessRules(
  query: RunOwnerQuery,
  schemas: readonly string[],
  roles: readonly string[],
): Promise<AccessRules> {
  const { text } = introspectionQuery('policy-test-access')
  return (await query(text, [JSON.stringify(schemas), JSON.stringify(roles)])).map((row) => decodeRow<Found>(row))
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const roleName = (role: string): string => (role === 'public' ? 'public' : quoted(role))

/** Mutants that weaken the rules: each lets someone do more, or removes a policy. */
export const weakeningMutants = (rules: AccessRules): readonly Mutant[] =>
  unique(
    rules.flatMap((found) => {
      switch (found.kind) {
        case 'policy':
          return weakerPolicies(found, found.fields, heldOn(rules, found))
        case 'table':
          return weakerGrants(found, found.fields)
        case 'function':
          return found.fields.lacking.map((role) => functionMutant(found, 'grant', role))
        default:
          return []
      }
    }),
  )

/**
 * Mutants that show what no test exercises: a policy without effect, or that refuses or lets pass every row, a grant that
 * is revoked, a check constraint of a table or of a domain that is dropped.
 */
export const coverageMutants = (rules: AccessRules): readonly Mutant[] =>
  unique(
    rules.flatMap((found) => {
      switch (found.kind) {
        case 'policy':
          return exercisedPolicies(found, found.fields)
        case 'table':
          return [
            ...found.fields.granted.map((grant) => grantMutant(found, 'revoke', grant)),
            ...found.fields.grantedColumns.map((grant) => grantMutant(found, 'revoke', grant, grant.column)),
          ]
        case 'function':
          return found.fields.granted.map((role) => functionMutant(found, 'revoke', role))
        case 'domain':
          return [
            {
              ...objectOf(found),
              kind: 'domain',
              tables: found.fields.tables,
              id: `${found.schema}.${found.relation}: constraint "${found.name}": drop`,
              command: undefined,
              roles: null,
              isOfRows: false,
              sql: [`alter domain ${tableOf(found)} drop constraint ${quoted(found.name)}`],
            },
          ]
        default:
          return [
            {
              ...objectOf(found),
              id: `${found.schema}.${found.relation}: constraint "${found.name}": drop`,
              command: undefined,
              roles: null,
              isOfRows: false,
              sql: [`alter table ${tableOf(found)} drop constraint ${quoted(found.name)}`],
            },
          ]
      }
    }),
  )

const unique = (mutants: readonly Mutant[]): readonly Mutant[] => [
  ...new Map(mutants.map((mutant) => [mutant.id, mutant])).values(),
]

/** The privileges that roles have on the table of a policy. */
function heldOn(rules: AccessRules, { schema, relation }: Place): readonly Grant[] {
  const table = rules.find((it) => it.kind === 'table' && it.schema === schema && it.relation === relation)
  return table?.kind === 'table' ? table.fields.held : []
}

type Place = Pick<Found, 'schema' | 'relation'>

const tableOf = ({ schema, relation }: Place): string => `${quoted(schema)}.${quoted(relation)}`
const objectOf = ({ schema, relation }: Place): Pick<Mutant, 'schema' | 'object' | 'kind' | 'tables'> => ({
  schema,
  object: relation,
  kind: 'relation',
  tables: [`${schema}.${relation}`],
})

function policyMutants(found: Place & { readonly name: string }, fields: PolicyFields) {
  const policy = `${quoted(found.name)} on ${tableOf(found)}`
  const mutant = (change: string, sql: string, roles: readonly string[] = fields.roles): Mutant => ({
    ...objectOf(found),
    id: `${found.schema}.${found.relation}: policy "${found.name}": ${change.replaceAll(/\s+/g, ' ')}`,
    command: fields.command,
    roles,
    isOfRows: true,
    sql: [sql],
  })
  const alter = (using: string | null, check: string | null): string =>
    `alter policy ${policy}${using === null ? '' : ` using (${using})`}${check === null ? '' : ` with check (${check})`}`
  return { policy, mutant, alter }
}

/** A policy without WITH CHECK uses USING for new rows, too. */
const effectiveCheck = ({ command, using, check }: PolicyFields): string | null =>
  check ?? (command === 'all' || command === 'update' ? using : null)

const isTrue = (expression: string | null): boolean => expression === null || expression === 'true'

function weakerPolicies(
  found: Place & { readonly name: string },
  fields: PolicyFields,
  held: readonly Grant[],
): readonly Mutant[] {
  // Roles that bypass row-level security notice no change.
  if (fields.roles.length === 0) return widened(found, fields, held)
  const { using } = fields
  const check = effectiveCheck(fields)
  const { policy, mutant, alter } = policyMutants(found, fields)
  return [
    mutant('drop', `drop policy ${policy}`),
    ...(isTrue(using) ? [] : [mutant('using true', alter('true', check))]),
    ...(isTrue(check) ? [] : [mutant('check true', alter(using, 'true'))]),
    ...withoutConjuncts(using ?? '').map(({ dropped, expression }) =>
      mutant(`using without ${dropped}`, alter(expression, check)),
    ),
    ...withoutConjuncts(check ?? '').map(({ dropped, expression }) =>
      mutant(`check without ${dropped}`, alter(using, expression)),
    ),
    ...widened(found, fields, held),
  ]
}

/**
 * A restrictive policy for more roles is a stronger one. Without the privilege for its command, the policy has no effect for
 * another role.
 */
function widened(
  found: Place & { readonly name: string },
  fields: PolicyFields,
  held: readonly Grant[],
): readonly Mutant[] {
  const { command, isPublic, isPermissive, roles } = fields
  const { policy, mutant } = policyMutants(found, fields)
  const others = held.filter(
    ({ role, privilege }) => !roles.includes(role) && (command === 'all' || command === privilege),
  )
  if (isPublic || !isPermissive || others.length === 0) return []
  return [mutant('to public', `alter policy ${policy} to public`, ['public'])]
}

function exercisedPolicies(found: Place & { readonly name: string }, fields: PolicyFields): readonly Mutant[] {
  if (fields.roles.length === 0) return []
  const { using, check } = fields
  const { mutant, alter } = policyMutants(found, fields)
  const both = (value: string): string =>
    alter(using === null ? null : value, using !== null && check === null ? null : value)
  return [
    mutant('no row passes', both('false')),
    ...(isTrue(using) && isTrue(check) ? [] : [mutant('every row passes', both('true'))]),
  ]
}

function weakerGrants(found: Place, { isTable, isSecured, lacking }: TableFields): readonly Mutant[] {
  const security: Mutant = {
    ...objectOf(found),
    id: `${found.schema}.${found.relation}: row level security: disable`,
    command: 'all',
    roles: null,
    isOfRows: true,
    sql: [`alter table ${tableOf(found)} disable row level security`],
  }
  return [...(isTable && isSecured ? [security] : []), ...lacking.map((grant) => grantMutant(found, 'grant', grant))]
}

function grantMutant(found: Place, change: 'grant' | 'revoke', { role, privilege }: Grant, column?: string): Mutant {
  const what = column === undefined ? privilege : `${privilege} (${quoted(column)})`
  const direction = change === 'grant' ? 'to' : 'from'
  return {
    ...objectOf(found),
    id: `${found.schema}.${found.relation}: ${change} ${column === undefined ? privilege : `${privilege} (${column})`} ${direction} ${role}`,
    command: privilege,
    roles: [role],
    isOfRows: false,
    sql: [`${change} ${what} on ${tableOf(found)} ${direction} ${roleName(role)}`],
  }
}

function functionMutant({ schema, relation, name }: Found, change: 'grant' | 'revoke', role: string): Mutant {
  const direction = change === 'grant' ? 'to' : 'from'
  return {
    schema,
    object: relation,
    kind: 'function',
    tables: [],
    id: `${schema}.${relation}(${name}): ${change} execute ${direction} ${role}`,
    command: undefined,
    roles: [role],
    isOfRows: false,
    sql: [`${change} execute on routine ${quoted(schema)}.${quoted(relation)}(${name}) ${direction} ${roleName(role)}`],
  }
}
