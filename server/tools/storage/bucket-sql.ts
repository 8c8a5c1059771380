// The SQL of a bucket in which each user has a folder.
import { ownFolderPolicies } from '../../services/storage/bucket-policies.ts'
import { literal } from '../../text/sql-text.ts'

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
