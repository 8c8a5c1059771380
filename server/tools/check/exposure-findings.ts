// `rowhouse check`: finds risks in what the API exposes.
import { isInternalRole } from '../../identity/internal-role.ts'
import { commands, type Command, type Exposed, type ExposedFunction, type ExposedRelation } from './exposure.ts'

export type Finding =
  /** All roles with a grant can access all rows. */
  | { readonly kind: 'rls-off' }
  /** The relation does not support row-level security: all roles with a grant can read all rows. */
  | { readonly kind: 'no-rls-possible'; readonly relation: 'foreign table' | 'materialized view' }
  /** The grant has no effect: without a policy, row-level security denies access to all rows. */
  | { readonly kind: 'policy-missing'; readonly role: string; readonly commands: readonly Command[] }
  /** Users write their metadata themselves, so what these policies decide by it, every user can decide. */
  | { readonly kind: 'user-metadata'; readonly policies: readonly string[] }
  /** The view reads with its owner's rights, which bypasses the policies for the caller. */
  | { readonly kind: 'no-security-invoker'; readonly owner: string; readonly ownerBypassesRls: boolean }
  /** The function runs with its owner's rights, which bypasses the policies for the caller. */
  | { readonly kind: 'security-definer'; readonly owner: string; readonly callers: readonly string[] }

export type Checked = Exposed & { readonly findings: readonly Finding[] }

/** Finds risks in the exposed objects. A pure function. */
export const checkExposure = (exposed: readonly Exposed[]): Checked[] =>
  exposed.map((object) => ({ ...object, findings: findingsOf(object) }))

function findingsOf(object: Exposed): Finding[] {
  switch (object.kind) {
    case 'table':
      return [...(object.rls ? missingPolicies(object) : [{ kind: 'rls-off' } as const]), ...byUserMetadata(object)]
    case 'foreign table':
    case 'materialized view':
      return [{ kind: 'no-rls-possible', relation: object.kind }]
    case 'view':
      return object.securityInvoker
        ? []
        : [{ kind: 'no-security-invoker', owner: object.owner, ownerBypassesRls: object.ownerBypassesRls }]
    case 'function':
      return object.securityDefiner
        ? [{ kind: 'security-definer', owner: object.owner, callers: callersOf(object) }]
        : []
    default:
      return object satisfies never
  }
}

function missingPolicies({ roles, policies }: ExposedRelation): Finding[] {
  const permits = (role: string, command: Command): boolean =>
    policies.some(
      (policy) =>
        policy.permissive && policy.roles.includes(role) && (policy.command === 'all' || policy.command === command),
    )
  return roles
    .filter(({ bypassesRls }) => !bypassesRls)
    .map(({ name, grants }) => ({
      kind: 'policy-missing' as const,
      role: name,
      commands: commands.filter((command) => grants[command] !== null && !permits(name, command)),
    }))
    .filter((finding) => finding.commands.length > 0)
}

function byUserMetadata({ policies }: ExposedRelation): Finding[] {
  const readers = policies.filter(({ readsUserMetadata }) => readsUserMetadata).map(({ name }) => name)
  return readers.length > 0 ? [{ kind: 'user-metadata', policies: readers }] : []
}

export const callersOf = ({ roles }: ExposedFunction): string[] =>
  roles.filter(({ execute }) => execute).map(({ name }) => name)

/** The callers without the server's own roles, which no request has. */
export const callersShown = ({ callers }: { readonly callers: readonly string[] }): string[] =>
  callers.filter((name) => !isInternalRole(name))

/** Describes a finding. */
export function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'rls-off':
      return 'row-level security is off'
    case 'no-rls-possible':
      return `a ${finding.relation} has no row-level security: every role with a grant sees all rows`
    case 'policy-missing':
      return `${finding.role} has the grant to ${finding.commands.join(', ')}, but no policy allows it`
    case 'user-metadata':
      return (
        `${finding.policies.length === 1 ? 'policy' : 'policies'} on user_metadata, which all users can change ` +
        `themselves (app_metadata is safe): ${finding.policies.join(', ')}`
      )
    case 'no-security-invoker':
      return (
        `view without security_invoker: it reads with the rights of its owner ${finding.owner}` +
        (finding.ownerBypassesRls ? ', which bypasses all policies' : '')
      )
    case 'security-definer':
      return (
        `security definer function in an exposed schema: it runs with the rights of its owner ${finding.owner}` +
        (callersShown(finding).length > 0 ? ` for ${callersShown(finding).join(', ')}` : '')
      )
    default:
      return finding satisfies never
  }
}
