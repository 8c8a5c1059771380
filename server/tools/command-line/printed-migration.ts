// What `rowhouse audit`, `storage init` and `webhook add` do with the SQL that they have made: print it, or add it to the project.
import type { Command } from 'commander'
import type { Dependencies } from './dependencies.ts'

export type MigrationOptions = { readonly json?: true; readonly config?: string; readonly write?: true | string }

/** Adds the options with which a command takes a folder and a configuration file. */
export const withMigrationOptions = (command: Command): Command =>
  command
    .option('--write [folder]', "write it to a folder of migrations, by default the project's")
    .option('-c, --config <file>', 'configuration file')

/**
 * Prints a migration, or writes it to a file with `--write`.
 *
 * @param name words for the name of the file
 */
export async function printMigration(
  name: string,
  sql: string,
  { json, config, write }: MigrationOptions,
  { loadConfig, print }: Dependencies,
): Promise<void> {
  if (write === undefined) return print(json ? `${JSON.stringify({ sql })}\n` : sql)
  const { createMigration } = await import('../migrations/new-migration.ts')
  const { folderForNew } = await import('../../config/project.ts')
  const file = await createMigration(write === true ? await folderForNew(loadConfig(config)) : write, name, sql)
  print(json ? `${JSON.stringify({ file })}\n` : `Wrote ${file}. To apply it: rowhouse migrate\n`)
}
