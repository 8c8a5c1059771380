// The templates of policies for a bucket.
import {
  memberPolicies,
  ownFolderPolicies,
  publicReadPolicies,
  signedInPolicies,
} from '../../../services/storage/bucket-policies.ts'

type Template = {
  readonly key: string
  readonly label: string
  readonly description: string
  readonly sqlFor: (bucket: string) => string
}

export const policyTemplates: readonly [Template, ...Template[]] = [
  {
    key: 'own_folder',
    label: 'Own folder',
    description:
      'Signed-in users read and write the files in the folder that is named after their id, and nothing else: avatars, private documents.',
    sqlFor: ownFolderPolicies,
  },
  {
    key: 'public_read',
    label: 'Public read',
    description:
      'Everyone reads and lists the files; only service_role writes them. A public bucket needs this for lists only.',
    sqlFor: publicReadPolicies,
  },
  {
    key: 'signed_in',
    label: 'Signed-in users',
    description: 'Signed-in users read all files and add new ones; they change and delete only those that they added.',
    sqlFor: signedInPolicies,
  },
  {
    key: 'members',
    label: 'Members',
    description:
      'The members of a group share the folder that is named after its id. It expects a table public.members with group_id and user_id: change the names to yours.',
    sqlFor: memberPolicies,
  },
]
