// SQL of the policies that most buckets need, which the console and `rowhouse storage init` propose.
import { identifier, literal } from '../../text/sql-text.ts'

/** Names of policies are cut after 63 bytes, and have to differ. */
const longestBucket = 30

type Policy = {
  readonly name: string
  readonly command: 'select' | 'insert' | 'update' | 'delete'
  readonly roles: string
  /** What is required of a row, beside its bucket. */
  readonly condition?: string
}

function policyOn(bucket: string, { name, command, roles, condition }: Policy): string {
  const shown = [`bucket_id = ${literal(bucket)}`, ...(condition === undefined ? [] : [condition])].join('\n    and ')
  const clauses = [
    ...(command === 'insert' ? [] : [`using (\n    ${shown}\n  )`]),
    ...(command === 'insert' || command === 'update' ? [`with check (\n    ${shown}\n  )`] : []),
  ]
  const title = identifier(`${bucket.slice(0, longestBucket)}: ${name}`)
  return `create policy ${title} on storage.objects\n  for ${command} to ${roles}\n  ${clauses.join('\n  ')};`
}

const commands = [
  ['select', 'read'],
  ['insert', 'add'],
  ['update', 'change'],
  ['delete', 'delete'],
] as const

const allCommands = (bucket: string, who: string, condition: string): string =>
  commands
    .map(([command, verb]) => policyOn(bucket, { name: `${who} ${verb}`, command, roles: 'authenticated', condition }))
    .join('\n')

/** Lists of buckets show those that the caller may select. */
const showBucket = (bucket: string, roles: string): string =>
  `-- So that lists of buckets show it.
create policy ${identifier(`${bucket.slice(0, longestBucket)}: in lists`)} on storage.buckets
  for select to ${roles}
  using (id = ${literal(bucket)});`

/** Signed-in users read and write the files in the folder that is named after their id, and nothing else. */
export const ownFolderPolicies = (bucket: string): string =>
  [
    allCommands(bucket, 'owners', '(storage.foldername(name))[1] = (select auth.uid())::text'),
    showBucket(bucket, 'authenticated'),
  ].join('\n\n')

/** Everyone reads and lists the files. */
export const publicReadPolicies = (bucket: string): string =>
  [
    policyOn(bucket, { name: 'everyone reads', command: 'select', roles: 'anon, authenticated' }),
    showBucket(bucket, 'anon, authenticated'),
  ].join('\n\n')

/** Signed-in users read all files and add new ones; they change and delete only those that they added. */
export const signedInPolicies = (bucket: string): string =>
  [
    policyOn(bucket, { name: 'users read', command: 'select', roles: 'authenticated' }),
    policyOn(bucket, { name: 'users add', command: 'insert', roles: 'authenticated' }),
    ...(['update', 'delete'] as const).map((command) =>
      policyOn(bucket, {
        name: `owners ${command}`,
        command,
        roles: 'authenticated',
        condition: 'owner_id = (select auth.uid())::text',
      }),
    ),
    showBucket(bucket, 'authenticated'),
  ].join('\n\n')

/** The members of a group, which are rows of `public.members`, share the folder that is named after its id. */
export const memberPolicies = (bucket: string): string =>
  [
    allCommands(
      bucket,
      'members',
      `(storage.foldername(name))[1] in (
      select members.group_id::text from public.members where members.user_id = (select auth.uid())
    )`,
    ),
    showBucket(bucket, 'authenticated'),
  ].join('\n\n')
