// The SQL of a bucket in which each user has a folder. The console proposes the same policies for a bucket that exists.

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
const identifier = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Names of policies are cut after 63 bytes, and have to differ. */
const longestBucket = 30

const commands = [
  ['select', 'read'],
  ['insert', 'add'],
  ['update', 'change'],
  ['delete', 'delete'],
] as const

/**
 * Policies by which signed-in users read and write the files in the folder that is named after their id, and nothing else.
 *
 * @param bucket id of the bucket
 */
export function ownFolderPolicies(bucket: string): string {
  const name = (text: string): string => identifier(`${bucket.slice(0, longestBucket)}: ${text}`)
  const condition = `(
    bucket_id = ${literal(bucket)}
    and (storage.foldername(name))[1] = (select auth.uid())::text
  )`
  const policies = commands.map(([command, verb]) => {
    const clauses = [
      ...(command === 'insert' ? [] : [`using ${condition}`]),
      ...(command === 'insert' || command === 'update' ? [`with check ${condition}`] : []),
    ]
    return `create policy ${name(`owners ${verb}`)} on storage.objects
  for ${command} to authenticated
  ${clauses.join('\n  ')};`
  })
  return `${policies.join('\n')}

-- So that lists of buckets show it.
create policy ${name('in lists')} on storage.buckets
  for select to authenticated
  using (id = ${literal(bucket)});`
}

/**
 * A migration that creates a bucket with these policies.
 *
 * @param isPublic whether everyone reads its files by their addresses
 */
export const bucketSql = (bucket: string, isPublic: boolean): string => `\
-- The bucket ${bucket.replaceAll(/\s+/g, ' ')}: signed-in users read and write the files in the folder that is named after their id.${
  isPublic ? '\n-- It is public: everyone reads its files by their addresses.' : ''
}
insert into storage.buckets (id, name, public)
values (${literal(bucket)}, ${literal(bucket)}, ${isPublic});

${ownFolderPolicies(bucket)}
`
