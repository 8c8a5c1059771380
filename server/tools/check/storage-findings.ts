// `rowhouse check` for the storage service: public buckets whose objects everyone can list, and policies for buckets that do
// not exist.
import type { PolicyRow, Relation } from '../../catalogue/description.ts'
import { BucketConditions } from './bucket-conditions.ts'
import type { CheckCatalogue } from './catalogue.ts'
import { PolicyExpressions } from './policy-expression.ts'
import { SchemaView } from './schema-view.ts'

export type StorageFinding =
  /** Callers with these roles learn the names of all objects. The objects are public only to callers who know their names. */
  | {
      readonly kind: 'listable-bucket'
      readonly bucket: string
      readonly roles: readonly string[]
      readonly policies: readonly string[]
    }
  /** All roles can read and write all rows. */
  | { readonly kind: 'storage-rls-off' }
  /** The policy has no effect; perhaps the name is misspelt. */
  | { readonly kind: 'policy-without-bucket'; readonly policy: string; readonly bucket: string }

/** Roles that everyone has, or can get by signing up. */
const everyone = ['anon', 'authenticated']

/** Finds risks in buckets and policies. None in a database without the storage service, or whose buckets are not visible. */
export function checkStorage(catalogue: CheckCatalogue): StorageFinding[] {
  const objects = catalogue.relations.find(({ schema, name }) => schema === 'storage' && name === 'objects')
  // Without a role that reads all buckets, none is known.
  if (!objects || (catalogue.storage?.readers ?? []).length === 0) return []
  const view = new SchemaView(catalogue)
  const conditions = new BucketConditions(view, new PolicyExpressions(view), objects)
  const { buckets } = catalogue
  const known = new Set(buckets.map(({ id }) => id))
  return [
    ...(objects.rls ? [] : [{ kind: 'storage-rls-off' } as const]),
    ...(objects.rls
      ? buckets.flatMap((bucket) => (bucket.public ? listable(view, objects, conditions, bucket.id) : []))
      : []),
    ...view
      .policiesOf(objects)
      .flatMap(({ name: policy, usingTree, checkTree }) =>
        [...new Set([usingTree, checkTree].flatMap((condition) => conditions.bucketsIn(condition)))]
          .filter((bucket) => !known.has(bucket))
          .map((bucket) => ({ kind: 'policy-without-bucket', policy, bucket }) as const),
      ),
  ]
}

function listable(view: SchemaView, objects: Relation, conditions: BucketConditions, bucket: string): StorageFinding[] {
  const found = everyone.map((role) => {
    const reading = view
      .policiesOf(objects)
      .filter(
        ({ command, roles }) =>
          (command === 'SELECT' || command === 'ALL') &&
          roles.some((oid) => oid === 0 || view.role(oid)?.name === role),
      )
    const allows = ({ usingTree }: PolicyRow): boolean => conditions.verdict(usingTree, bucket, role) === 'always'
    const isRestricted = reading.some((policy) => !policy.isPermissive && !allows(policy))
    const open = isRestricted ? [] : reading.filter((policy) => policy.isPermissive && allows(policy))
    return { role, policies: open.map(({ name }) => name) }
  })
  const open = found.filter(({ policies }) => policies.length > 0)
  if (open.length === 0) return []
  const names = [...new Set(open.flatMap(({ policies }) => policies))]
  return [{ kind: 'listable-bucket', bucket, roles: open.map(({ role }) => role), policies: names }]
}

/** Describes a finding. */
export function describeStorageFinding(finding: StorageFinding): string {
  switch (finding.kind) {
    case 'storage-rls-off':
      return 'storage.objects: row-level security is off'
    case 'listable-bucket':
      return (
        `storage bucket ${finding.bucket} is public, and ${finding.roles.join(', ')} can list all its objects by ` +
        `${finding.policies.length === 1 ? 'the policy' : 'the policies'} ${finding.policies.join(', ')}; ` +
        'public addresses need no policy'
      )
    case 'policy-without-bucket':
      return `policy ${finding.policy} on storage.objects: there is no bucket ${finding.bucket}`
    default:
      return finding satisfies never
  }
}
