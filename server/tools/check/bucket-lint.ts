// The lint on policies by which clients list the objects of public buckets, which splinter has, too.
import { literal } from '../../text/sql-text.ts'
import { finding, type LintFinding } from './finding.ts'
import { isAlwaysTrue } from './policy-edit.ts'
import { splinterRoles, type SchemaView } from './schema-view.ts'

/** Public buckets whose objects a policy lets everyone list. */
export function listableBuckets(view: SchemaView): LintFinding[] {
  const objects = view.catalogue.relations.find(({ schema, name }) => schema === 'storage' && name === 'objects')
  if (!objects) return []
  const reading = view
    .policiesOf(objects)
    .filter(
      ({ command, isPermissive, roles }) =>
        isPermissive &&
        (command === 'SELECT' || command === 'ALL') &&
        roles.some((oid) => oid === 0 || splinterRoles.includes(view.role(oid)?.name ?? '')),
    )
  return view.catalogue.buckets
    .filter((bucket) => bucket.public)
    .flatMap(({ id, name }) => {
      const open = reading.filter(({ using }) => using === null || isAlwaysTrue(using) || isBucketOnly(using, id))
      const names = open.map((policy) => policy.name).sort()
      if (open.length === 0) return []
      return [
        finding({
          code: 'public_bucket_allows_listing',
          level: 'WARN',
          object: { type: 'bucket', schema: 'storage', name },
          key: `public_bucket_allows_listing_${id}`,
          reason: `The policies ${names.join(', ')} let clients list the names of all objects in the public bucket, which its addresses do not need.`,
          fix: open.every(({ using }) => isBucketOnly(using ?? '', id))
            ? open.map(({ quoted }) => `drop policy ${quoted} on ${objects.quoted};`).join('\n')
            : null,
          advice: 'If clients list objects on purpose, restrict the policy to a folder of the caller.',
          metadata: { bucket_id: id, bucket_name: name, policy_names: names, policy_count: open.length },
        }),
      ]
    })
}

function isBucketOnly(text: string, id: string): boolean {
  const found = /^\s*\(*\s*bucket_id\s*=\s*('(?:[^']|'')*')(\s*::\s*[\p{L}\p{N}_.]+)?\s*\)*\s*$/iu.exec(text)
  return found?.[1] === literal(id).replace(/^E/, '').replaceAll('\\\\', '\\')
}
