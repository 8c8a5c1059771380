// `rowhouse check` for the storage service: public buckets whose objects everyone can list, and policies for buckets that do
// not exist.
import { storageAdminRole } from '../../identity/internal-role.ts'
import type { RunClientQuery } from './exposure.ts'
import { bucketsIn, verdictOf } from './policy-condition.ts'

export type StoragePolicy = {
  readonly name: string
  readonly command: 'select' | 'insert' | 'update' | 'delete' | 'all'
  readonly permissive: boolean
  /** Names of roles; `public` for all. */
  readonly roles: readonly string[]
  /** The conditions `using` and `with check`. */
  readonly using: string | null
  readonly check: string | null
}

export type StorageExposure = {
  /** Whether row-level security is on for `storage.objects`. */
  readonly rls: boolean
  readonly buckets: readonly { readonly id: string; readonly public: boolean }[]
  readonly policies: readonly StoragePolicy[]
}

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

/** A cast to `regclass` would need USAGE on the schema. */
const oidOf = (table: string): string =>
  `(select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'storage' and c.relname = '${table}')`

const objectPolicies = `
  select coalesce(json_agg(json_build_object(
    'name', polname,
    'command', case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    'permissive', polpermissive,
    'roles', (select json_agg(case role when 0 then 'public' else pg_get_userbyid(role)::text end) from unnest(polroles) as role),
    'using', pg_get_expr(polqual, polrelid),
    'check', pg_get_expr(polwithcheck, polrelid)
  ) order by polname), '[]') as policies,
  (select relrowsecurity from pg_catalog.pg_class where oid = ${oidOf('objects')}) as rls
  from pg_catalog.pg_policy where polrelid = ${oidOf('objects')}`

const allBuckets = `select coalesce(json_agg(json_build_object('id', id, 'public', coalesce(public, false)) order by id), '[]') as buckets
  from storage.buckets`

/**
 * Reads the buckets and policies; undefined in a database without the storage service, or if the connected role cannot
 * switch to a role that sees all buckets.
 *
 * @param query runs statements on one connection
 */
export async function readStorageExposure(query: RunClientQuery): Promise<StorageExposure | undefined> {
  const { rows: tables } = await query(
    `select ${oidOf('objects')} is not null and exists (
       select from pg_catalog.pg_roles r, pg_catalog.pg_class c
       where r.rolname = $1 and c.oid = ${oidOf('buckets')} and pg_has_role(session_user, r.oid, 'member')
         and has_schema_privilege(r.oid, c.relnamespace, 'usage') and has_table_privilege(r.oid, c.oid, 'select')
         and 2 = (select count(*) from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attname in ('id', 'public'))
     ) as exist`,
    [storageAdminRole],
  )
  if (tables[0]?.exist !== true) return undefined
  await query('begin transaction isolation level repeatable read, read only')
  try {
    await query(`select set_config('search_path', '', true)`)
    const { rows } = await query(objectPolicies)
    await query(`select set_config('role', $1, true)`, [storageAdminRole])
    const { rows: listed } = await query(allBuckets)
    return { ...rows[0], ...listed[0] } as StorageExposure
  } finally {
    await query('rollback')
  }
}

/** Finds risks in buckets and policies. A pure function. */
export function checkStorage({ rls, buckets, policies }: StorageExposure): StorageFinding[] {
  const known = new Set(buckets.map(({ id }) => id))
  return [
    ...(rls ? [] : [{ kind: 'storage-rls-off' } as const]),
    ...(rls ? buckets.flatMap((bucket) => (bucket.public ? listable(bucket.id, policies) : [])) : []),
    ...policies.flatMap(({ name: policy, using, check }) =>
      [...new Set([using, check].flatMap(bucketsIn))]
        .filter((bucket) => !known.has(bucket))
        .map((bucket) => ({ kind: 'policy-without-bucket', policy, bucket }) as const),
    ),
  ]
}

function listable(bucket: string, policies: readonly StoragePolicy[]): StorageFinding[] {
  const found = everyone.map((role) => {
    const reading = policies.filter(
      ({ command, roles }) =>
        (command === 'select' || command === 'all') && (roles.includes('public') || roles.includes(role)),
    )
    const allows = ({ using }: StoragePolicy): boolean => verdictOf(using, bucket, role) === 'always'
    const isRestricted = reading.some((policy) => !policy.permissive && !allows(policy))
    const open = isRestricted ? [] : reading.filter((policy) => policy.permissive && allows(policy))
    return { role, policies: open.map(({ name }) => name) }
  })
  const open = found.filter(({ policies: names }) => names.length > 0)
  if (open.length === 0) return []
  const names = [...new Set(open.flatMap(({ policies: each }) => each))]
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
