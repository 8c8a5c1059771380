// `rowhouse storage`: a first bucket for files.
import type { Command } from 'commander'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { printable } from './text-table.ts'

type Options = {
  readonly json?: true
  readonly config?: string
  readonly public?: true
  readonly write?: true | string
}

export function addStorage(program: Command, { loadConfig, print }: Dependencies): void {
  program
    .command('storage')
    .description('begin to store files')
    .helpCommand(false)
    .command('init')
    .description('print the migration that creates a bucket in which each user has a folder of their own')
    .argument('[bucket]', 'name of the bucket', 'files')
    .option('--public', 'everyone reads its files by their addresses')
    .option('--write [folder]', "write it to a folder of migrations, by default the project's")
    .option('-c, --config <file>', 'configuration file')
    .action(async (bucket: string, _own: unknown, command: Command) => {
      const { json, config, public: isPublic, write } = command.optsWithGlobals<Options>()
      await requireName(bucket)
      const { bucketSql } = await import('../storage/bucket-sql.ts')
      const sql = bucketSql(bucket, isPublic === true)
      if (write === undefined) return print(json ? `${JSON.stringify({ sql })}\n` : sql)
      const { createMigration } = await import('../migrations/new-migration.ts')
      const { folderForNew } = await import('../../config/project.ts')
      const folder = write === true ? await folderForNew(loadConfig(config)) : write
      const file = await createMigration(folder, `bucket ${bucket}`, sql)
      print(json ? `${JSON.stringify({ file })}\n` : `Wrote ${file}. To apply it: rowhouse migrate\n`)
    })
}

/** @throws CommandError for a name that `/storage/v1` refuses */
async function requireName(bucket: string): Promise<void> {
  const { requireBucketName } = await import('../../services/storage/names.ts')
  try {
    requireBucketName(bucket)
    if (bucket.trim() === bucket) return
  } catch {
    // The reason is the same.
  }
  throw new CommandError(
    `${JSON.stringify(printable(bucket))} cannot be the name of a bucket. Allowed are 1 to 100 letters from a to z, digits, blanks ` +
      "within, and the characters _!.*'()&$=@;:+,?-",
  )
}
