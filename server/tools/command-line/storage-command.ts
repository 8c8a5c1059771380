// `rowhouse storage`: a first bucket for files.
import type { Command } from 'commander'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { printMigration, withMigrationOptions, type MigrationOptions } from './printed-migration.ts'
import { printable } from './text-table.ts'

type Options = MigrationOptions & { readonly public?: true }

export function addStorage(program: Command, dependencies: Dependencies): void {
  const storage = program.command('storage').description('begin to store files').helpCommand(false)
  withMigrationOptions(
    storage
      .command('init')
      .description('print the migration that creates a bucket in which each user has a folder of their own')
      .argument('[bucket]', 'name of the bucket', 'files')
      .option('--public', 'everyone reads its files by their addresses'),
  ).action(async (bucket: string, _own: unknown, command: Command) => {
    const options = command.optsWithGlobals<Options>()
    await requireName(bucket)
    const { bucketSql } = await import('../storage/bucket-sql.ts')
    await printMigration(`bucket ${bucket}`, bucketSql(bucket, options.public === true), options, dependencies)
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
