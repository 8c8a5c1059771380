// Lints on what the API exposes: relations and functions in exposed schemas, as in splinter.
import { identifier } from '../../text/sql-text.ts'
import type { FunctionRow, Relation } from '../../catalogue/description.ts'
import { finding, type LintFinding } from './finding.ts'
import { closingOf, signature } from './function-closing.ts'
import type { FunctionNeeds } from './function-needs.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import { splinterRoles, type SchemaView } from './schema-view.ts'
import { hasUnqualifiedNames } from './sql-source.ts'

const kinds = { r: 'table', p: 'table', f: 'foreign table', v: 'view', m: 'materialized view' } as const

const object = ({ schema, name, kind }: Relation): LintFinding['object'] => ({ type: kinds[kind], schema, name })

/** Relations in exposed schemas of the project that a role of the API can select from, with those roles. */
const exposed = (view: SchemaView, kind: string): { relation: Relation; roles: string[] }[] =>
  view.catalogue.relations
    .filter((it) => it.kind === kind && view.isExposed(it.schema) && view.isOwnSchema(it.schema))
    .map((relation) => ({ relation, roles: view.grantees(relation) }))
    .filter(({ roles }) => roles.length > 0)

/** Whether one of the roles is one that splinter looks for. */
const isSplinters = (roles: readonly string[]): boolean => roles.some((role) => splinterRoles.includes(role))

const revoke = (privilege: string, quoted: string, roles: readonly string[]): string =>
  `revoke ${privilege} on ${quoted} from public, ${roles.map(identifier).join(', ')};`

export function rlsDisabled(view: SchemaView): LintFinding[] {
  return exposed(view, 'r')
    .filter(({ relation }) => !relation.rls)
    .map(({ relation, roles }) =>
      finding({
        code: 'rls_disabled_in_public',
        level: 'ERROR',
        object: object(relation),
        key: `rls_disabled_in_public_${relation.schema}_${relation.name}`,
        reason: `Row-level security is off, so ${roles.join(' and ')} can read every row.`,
        fix: `alter table ${relation.quoted} enable row level security;\n${revokeAll(relation, roles)}`,
        advice: 'Grant what clients need again, together with a policy that allows it.',
        metadata: { roles },
        isOfSplinter: isSplinters(roles),
      }),
    )
}

/** Without policies, grants would have no effect, which is a finding as well. */
const revokeAll = ({ quoted }: Relation, roles: readonly string[]): string => revoke('all', quoted, roles)

export function insecureQueues(view: SchemaView): LintFinding[] {
  if (!view.isExposed('pgmq_public')) return []
  return view.catalogue.relations
    .filter((it) => it.kind === 'r' && it.schema === 'pgmq' && /^q[^]/.test(it.name) && !it.rls)
    .map((relation) => ({ relation, roles: view.grantees(relation) }))
    .filter(({ roles }) => roles.length > 0)
    .map(({ relation, roles }) =>
      finding({
        code: 'insecure_queue_exposed_in_api',
        level: 'ERROR',
        object: object(relation),
        key: `rls_disabled_in_public_${relation.schema}_${relation.name}`,
        reason: `Row-level security is off on the queue, so ${roles.join(' and ')} can read and change every message.`,
        fix: `alter table ${relation.quoted} enable row level security;`,
        isOfSplinter: isSplinters(roles),
      }),
    )
}

export function sensitiveColumns(view: SchemaView): LintFinding[] {
  return exposed(view, 'r')
    .filter(({ relation }) => !relation.rls)
    .flatMap(({ relation, roles }) => {
      const names = relation.columns.map(({ name }) => name).filter((name) => sensitive.has(plain(name)))
      if (names.length === 0) return []
      return [
        finding({
          code: 'sensitive_columns_exposed',
          level: 'ERROR',
          object: object(relation),
          key: `sensitive_columns_exposed_${relation.schema}_${relation.name}`,
          reason: `Row-level security is off, and ${roles.join(' and ')} can read ${names.sort().join(', ')}, which by name are secret or personal.`,
          fix: `alter table ${relation.quoted} enable row level security;\n${revokeAll(relation, roles)}`,
          metadata: { sensitive_columns: names, matched_patterns: [...new Set(names.map(plain))].sort() },
          isOfSplinter: isSplinters(roles),
        }),
      ]
    })
}

const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_')

/** Names of columns with credentials, or data about persons and their money. */
const sensitive = new Set(
  (
    'password passwd pwd passphrase secret secret_key private_key api_key apikey auth_key token jwt access_token refresh_token ' +
    'oauth_token session_token bearer_token auth_code session_id session_key session_secret recovery_code backup_code ' +
    'verification_code otp two_factor 2fa_secret 2fa_code ssn social_security social_security_number driver_license ' +
    'drivers_license license_number passport_number passport_id national_id tax_id credit_card card_number cvv cvc cvn ' +
    'bank_account account_number routing_number iban swift_code bic health_record medical_record patient_id insurance_number ' +
    'health_insurance medical_insurance treatment mac_address macaddr imei device_uuid pgp_key gpg_key ssh_key certificate ' +
    'license_key activation_key facial_recognition'
  ).split(' '),
)

export function definerViews(view: SchemaView): LintFinding[] {
  if (view.catalogue.version < 15) return []
  return exposed(view, 'v')
    .filter(({ relation }) => !relation.isOfExtension && !view.isInvoker(relation))
    .map(({ relation, roles }) => {
      const owner = view.role(relation.owner)
      return finding({
        code: 'security_definer_view',
        level: 'ERROR',
        object: object(relation),
        key: `security_definer_view_${relation.schema}_${relation.name}`,
        reason:
          `The view reads with the rights of its owner ${owner?.name ?? relation.owner}` +
          `${owner?.bypassesRls ? ', which bypasses all policies,' : ''} and not with those of the caller.`,
        fix: `alter view ${relation.quoted} set (security_invoker = true);`,
        advice: 'The callers then need privileges on the tables that it reads.',
        isOfSplinter: isSplinters(roles),
      })
    })
}

export const materializedViews = (view: SchemaView): LintFinding[] => unprotected(view, 'm', 'materialized_view_in_api')
export const foreignTables = (view: SchemaView): LintFinding[] => unprotected(view, 'f', 'foreign_table_in_api')

function unprotected(view: SchemaView, kind: 'm' | 'f', code: string): LintFinding[] {
  return exposed(view, kind)
    .filter(({ relation }) => !relation.isOfExtension)
    .map(({ relation, roles }) =>
      finding({
        code,
        level: 'WARN',
        object: object(relation),
        key: `${code}_${relation.schema}_${relation.name}`,
        reason: `A ${kinds[kind]} has no row-level security, so ${roles.join(' and ')} can read every row.`,
        fix: revoke('all', relation.quoted, roles),
        advice: 'Give access by a function or view that chooses the rows.',
        isOfSplinter: isSplinters(roles),
      }),
    )
}

/** Views that show rows of `auth.users`. */
export function exposedUsers(view: SchemaView): LintFinding[] {
  const users = view.catalogue.relations.find(({ schema, name }) => schema === 'auth' && name === 'users')
  if (!users) return []
  return view.catalogue.relations
    .filter(
      ({ kind, oid, schema }) =>
        (kind === 'v' || kind === 'm') && view.behind(oid).includes(users.oid) && view.isExposed(schema),
    )
    .filter((it) => it.kind === 'm' || !view.isInvoker(it) || !users.rls)
    .map((relation) => ({ relation, roles: view.grantees(relation) }))
    .filter(({ roles }) => roles.length > 0)
    .map(({ relation, roles }) =>
      finding({
        code: 'auth_users_exposed',
        level: 'ERROR',
        object: object(relation),
        key: `auth_users_exposed_${relation.schema}_${relation.name}`,
        reason: `The ${kinds[relation.kind]} shows rows of auth.users, with addresses and metadata of all accounts, to ${roles.join(' and ')}.`,
        fix: revoke('all', relation.quoted, roles),
        advice: 'Copy what others may see into a table of your own, with policies.',
        metadata: { exposed_to: roles },
        isOfSplinter: isSplinters(roles),
      }),
    )
}

export const graphqlAnonymous = (view: SchemaView): LintFinding[] =>
  inGraphql(view, 'pg_graphql_anon_table_exposed', [view.catalogue.anonymous], 'anon')

export const graphqlSignedIn = (view: SchemaView): LintFinding[] =>
  inGraphql(
    view,
    'pg_graphql_authenticated_table_exposed',
    view.apiRoles.map(({ name }) => name).filter((name) => name !== view.catalogue.anonymous),
    'authenticated',
  )

function inGraphql(view: SchemaView, code: string, roles: readonly string[], splinters: string): LintFinding[] {
  if (!view.catalogue.extensions.some(({ name }) => name === 'pg_graphql')) return []
  return view.catalogue.relations
    .filter(({ kind, schema }) => kind !== 'p' && view.isOwnSchema(schema))
    .map((relation) => ({
      relation,
      seers: view.grantees(relation, 'selectColumn').filter((role) => roles.includes(role)),
    }))
    .filter(({ seers }) => seers.length > 0)
    .map(({ relation, seers }) =>
      finding({
        code,
        level: 'WARN',
        object: object(relation),
        key: `${code}_${relation.schema}_${relation.name}`,
        reason: `${seers.join(' and ')} can select from it, so the GraphQL schema shows its name and columns to everyone with that role.`,
        fix: revoke('all', relation.quoted, seers),
        advice: 'Only if the existence of the object is a secret: requests of these roles to it fail afterwards.',
        isOfSplinter: seers.includes(splinters),
      }),
    )
}

type DefinerLint = (view: SchemaView, expressions: PolicyExpressions, needs: FunctionNeeds) => LintFinding[]

export const definerForAnonymous: DefinerLint = (view, _expressions, needs) =>
  definers(view, needs, 'anon_security_definer_function_executable', [view.catalogue.anonymous], 'anon')

export const definerForSignedIn: DefinerLint = (view, _expressions, needs) =>
  definers(
    view,
    needs,
    'authenticated_security_definer_function_executable',
    view.apiRoles.map(({ name }) => name).filter((name) => name !== view.catalogue.anonymous),
    'authenticated',
  )

function definers(
  view: SchemaView,
  needs: FunctionNeeds,
  code: string,
  roles: readonly string[],
  splinters: string,
): LintFinding[] {
  return view.catalogue.functions
    .filter(({ isSecurityDefiner, schema }) => isSecurityDefiner && view.isExposed(schema) && view.isOwnSchema(schema))
    .map((routine) => ({ routine, callers: view.executors(routine).filter((role) => roles.includes(role)) }))
    .filter(({ callers }) => callers.length > 0)
    .map(({ routine, callers }) => {
      const { closes, needed } = closingOf(view, needs, routine, callers)
      return finding({
        code,
        level: 'WARN',
        object: functionObject(routine),
        key: `${code}_${routine.schema}_${routine.name}_${routine.arguments}`,
        reason: `${callers.join(' and ')} can call the function, which runs with the rights of its owner ${view.role(routine.owner)?.name ?? routine.owner} and bypasses the policies for the caller.`,
        closes,
        advice:
          needed === null
            ? 'Or make it security invoker, or move it to a schema that is not exposed.'
            : `${needed} ${moveIt}`,
        metadata: { arguments: routine.arguments, language: routine.language },
        isOfSplinter: callers.includes(splinters),
        dismissed: isTrigger(routine) ? 'It is a trigger function, which only PostgreSQL can call.' : null,
      })
    })
}

/** What to do about a function that policies and the like need: they know it by its oid, wherever it is. */
export const moveIt =
  'Move it to a schema that is not exposed: policies and views keep calling it, and only functions that name its schema must be changed.'

export const isTrigger = ({ returns }: FunctionRow): boolean => /^(?:event_)?trigger$/.test(returns)

export const functionObject = ({ schema, name, arguments: list }: FunctionRow): LintFinding['object'] => ({
  type: 'function',
  schema,
  name: `${name}(${list})`,
})

/** Functions whose unqualified names depend on the `search_path` of the caller. */
export const mutableSearchPath = (view: SchemaView): LintFinding[] =>
  view.catalogue.functions
    .filter((it) => !it.setsSearchPath && it.extension === null && view.isOwnSchema(it.schema))
    .map((routine) => {
      // What requests look through, so that names in the body keep their meaning.
      const extra = view.catalogue.extraSearchPath.filter((schema) => view.isSchema(schema))
      const path = [...new Set([routine.schema, 'public', ...extra])].map(identifier).join(', ')
      return finding({
        code: 'function_search_path_mutable',
        level: 'WARN',
        object: functionObject(routine),
        key: `function_search_path_mutable_${routine.schema}_${routine.name}_${routine.sourceHash}`,
        reason:
          'Names without a schema in the function mean what the search_path of the caller says, who could create others by these names.',
        fix: routine.kind === 'a' ? null : `alter ${signature(routine)} set search_path to ${path}, pg_temp;`,
        advice: 'If it names objects of other schemas without the schema, add those to the path.',
        dismissed: whyFixed(routine),
      })
    })

function whyFixed({ kind, language, tree, source, isSecurityDefiner }: FunctionRow): string | null {
  if (kind === 'a') return 'An aggregate has no body of its own.'
  if (language === 'c' || language === 'internal') return 'The function is not written in SQL.'
  if (tree !== null && !isSecurityDefiner) return 'The names in its body were resolved when it was created.'
  if (!isSecurityDefiner && !hasUnqualifiedNames(source))
    return 'All tables and functions in its body have their schemas.'
  return null
}
