// Findings on exposed objects, storage and missing tables, in the form of the lints. Those that a lint has too appear once.
import { identifier } from '../../text/sql-text.ts'
import { callersShown, type Checked, type Finding } from './exposure-findings.ts'
import type { ExposedFunction, ExposedRelation } from './exposure.ts'
import { describeMissing, type MissingTable } from './missing-tables.ts'
import { describeStorageFinding, type StorageFinding } from './storage-findings.ts'
import { finding, type LintFinding } from './finding.ts'

const quoted = ({ schema, name }: { readonly schema: string; readonly name: string }): string =>
  `${identifier(schema)}.${identifier(name)}`

/** The first version of PostgreSQL whose views can read with the rights of the caller. */
const firstWithInvokers = 15

/** The findings on exposed objects. @param version major version of PostgreSQL, which decides what mends them */
export const exposedFindings = (checked: readonly Checked[], version = firstWithInvokers): LintFinding[] =>
  checked.flatMap((object) =>
    object.findings.flatMap((it) =>
      object.kind === 'function' ? ofFunction(object, it) : ofRelation(object, it, version),
    ),
  )

function ofRelation(relation: ExposedRelation, it: Finding, version: number): LintFinding[] {
  const { schema, name, kind } = relation
  const object = { type: kind, schema, name }
  const own = { object, isOfSplinter: false } as const
  const users = relation.roles
    .filter(({ grants, bypassesRls }) => !bypassesRls && Object.values(grants).some((grant) => grant !== null))
    .map((role) => role.name)
  switch (it.kind) {
    case 'rls-off':
      return [
        finding({
          ...own,
          code: 'exposed_table_without_rls',
          level: users.length > 0 ? 'ERROR' : 'INFO',
          key: `exposed_table_without_rls_${schema}_${name}`,
          reason:
            users.length > 0
              ? `Row-level security is off, so ${users.join(' and ')} can use every row by the privileges that they have.`
              : 'Row-level security is off in an exposed schema, so the first role that gets a privilege can use every row.',
          fix: `alter table ${quoted(relation)} enable row level security;`,
          advice: users.length > 0 ? 'Create policies for what clients need, and revoke the other privileges.' : null,
        }),
      ]
    case 'no-rls-possible':
      return [
        finding({
          ...own,
          code: 'exposed_relation_without_policies',
          level: users.length > 0 ? 'WARN' : 'INFO',
          key: `exposed_relation_without_policies_${schema}_${name}`,
          reason:
            `A ${it.relation} has no row-level security, so ` +
            (users.length > 0
              ? `${users.join(' and ')} can use every row by the privileges that they have.`
              : 'the first role that gets a privilege can read every row.'),
          advice: 'Move it to a schema that is not exposed.',
        }),
      ]
    case 'policy-missing':
      return [
        finding({
          ...own,
          code: 'grant_without_policy',
          level: 'WARN',
          key: `grant_without_policy_${schema}_${name}_${it.role}`,
          reason: `${it.role} has the privilege to ${it.commands.join(', ')}, but no policy allows it a row.`,
          fix: `revoke ${it.commands.join(', ')} on ${quoted(relation)} from public, ${identifier(it.role)};`,
          advice: 'If the role should have rows, create a policy instead.',
          metadata: { role: it.role, commands: it.commands },
        }),
      ]
    case 'user-metadata':
      return it.policies.map((policy) =>
        finding({
          ...own,
          code: 'rls_references_user_metadata',
          level: 'ERROR',
          key: `rls_references_user_metadata_${schema}_${name}_${policy}`,
          reason: `The policy ${policy} depends on user_metadata, which all users change themselves.`,
          advice: 'Only the server writes app_metadata: copy the values that policies need to it.',
          metadata: { policy },
        }),
      )
    case 'no-security-invoker':
      return [
        finding({
          ...own,
          code: 'exposed_view_of_owner',
          level: users.length > 0 ? 'WARN' : 'INFO',
          key: `exposed_view_of_owner_${schema}_${name}`,
          reason:
            users.length > 0
              ? `The view works with the rights of its owner ${it.owner} for ${users.join(' and ')}.`
              : `The view would read with the rights of its owner ${it.owner} for the first role that gets a privilege.`,
          ...(version >= firstWithInvokers
            ? { fix: `alter view ${quoted(relation)} set (security_invoker = true);` }
            : {
                advice: `PostgreSQL ${version} has no security_invoker. Let the view choose the rows of the caller, revoke the privileges, or upgrade to PostgreSQL ${firstWithInvokers} or later.`,
              }),
        }),
      ]
    case 'security-definer':
      return []
    default:
      return it satisfies never
  }
}

function ofFunction(routine: ExposedFunction, it: Finding): LintFinding[] {
  if (it.kind !== 'security-definer') return []
  return [
    finding({
      code: 'definer_function_exposed',
      level: 'WARN',
      object: { type: 'function', schema: routine.schema, name: `${routine.name}(${routine.arguments})` },
      key: `definer_function_exposed_${routine.schema}_${routine.name}_${routine.arguments}`,
      reason:
        `The function is in an exposed schema and runs with the rights of its owner ${it.owner}` +
        (callersShown(it).length > 0
          ? ` for ${callersShown(it).join(', ')}.`
          : ' for the first role that gets EXECUTE.'),
      advice: 'Move it to a schema that is not exposed.',
      isOfSplinter: false,
    }),
  ]
}

export const storageFindings = (found: readonly StorageFinding[]): LintFinding[] =>
  found.map((it) => {
    const reason = `${describeStorageFinding(it)}.`
    switch (it.kind) {
      case 'storage-rls-off':
        return finding({
          code: 'storage_rls_disabled',
          level: 'ERROR',
          object: { type: 'table', schema: 'storage', name: 'objects' },
          key: 'storage_rls_disabled_storage_objects',
          reason: 'Row-level security is off, so all roles can read and write all objects.',
          fix: 'alter table storage.objects enable row level security;',
          isOfSplinter: false,
        })
      case 'listable-bucket':
        return finding({
          code: 'storage_bucket_listable',
          level: 'WARN',
          object: { type: 'bucket', schema: 'storage', name: it.bucket },
          key: `storage_bucket_listable_${it.bucket}`,
          reason,
          advice: 'Restrict the policies to a folder of the caller.',
          metadata: { bucket_id: it.bucket, policy_names: it.policies },
          isOfSplinter: false,
        })
      case 'policy-without-bucket':
        return finding({
          code: 'storage_policy_without_bucket',
          level: 'WARN',
          object: { type: 'bucket', schema: 'storage', name: it.bucket },
          key: `storage_policy_without_bucket_${it.policy}_${it.bucket}`,
          reason,
          advice: 'Correct the name, or drop the policy.',
          metadata: { policy: it.policy },
          isOfSplinter: false,
        })
      default:
        return it satisfies never
    }
  })

export const missingFindings = (missing: readonly MissingTable[]): LintFinding[] =>
  missing.map((it) =>
    finding({
      code: 'missing_table',
      level: 'ERROR',
      object: { type: 'table', schema: null, name: it.table },
      key: `missing_table_${it.table}`,
      reason: `${describeMissing(it)}.`,
      isOfSplinter: false,
    }),
  )

/** Lints that are about the same as a finding of this file, by its code. */
const covering: Readonly<Record<string, readonly string[]>> = {
  exposed_table_without_rls: ['rls_disabled_in_public'],
  exposed_relation_without_policies: ['materialized_view_in_api', 'foreign_table_in_api'],
  exposed_view_of_owner: ['security_definer_view'],
  storage_bucket_listable: ['public_bucket_allows_listing'],
}

/** The keys of the lints that say the same about the same object, and its own. */
export const keysOf = ({ code, key }: LintFinding): string[] => [
  key,
  ...(covering[code] ?? []).map((lint) => `${lint}${key.slice(code.length)}`),
]

/**
 * Joins findings. One that a lint has as well, even dismissed, appears once; for functions with the rights of their
 * owner, the lints about their callers take precedence.
 */
export function joinFindings(lints: readonly LintFinding[], others: readonly LintFinding[]): LintFinding[] {
  const keys = new Set(lints.map(({ key }) => key))
  const callable = new Set(
    lints
      .filter(({ code }) => code.endsWith('_security_definer_function_executable'))
      .map(({ object }) => JSON.stringify([object.schema, object.name])),
  )
  const added = others.filter(
    (it) =>
      !keysOf(it).some((key) => keys.has(key)) &&
      !(it.code === 'definer_function_exposed' && callable.has(JSON.stringify([it.object.schema, it.object.name]))),
  )
  return [...lints, ...added]
}
