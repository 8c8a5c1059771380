// Creates a file for a new migration.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError } from '../command-line/command-error.ts'

/** Digits of a number from which on it is a timestamp. */
const timestampDigits = 12

/**
 * Creates `NUMBER_name.sql`. The number follows the folder's files: the next one of their width, or the current time in UTC
 * if they have timestamps or there are none.
 *
 * @param folder is created if it does not exist
 * @param name in words of any kind, which become `lower_case_words`
 * @param text of the file
 * @returns the path of the file
 * @throws CommandError when the name has no letters
 */
export async function createMigration(folder: string, name: string, text: string, now = new Date()): Promise<string> {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\.sql$/, '')
    .match(/[a-z0-9]+/g)
  if (!words?.some((word) => /[a-z]/.test(word))) {
    throw new CommandError(
      `The name of a migration has letters from a to z, such as create_tasks: ${JSON.stringify(name)} has none.`,
    )
  }
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${nextNumber(await readdir(folder), now)}_${words.join('_').slice(0, 100)}.sql`)
  // Never replaces a file.
  await writeFile(path, text, { flag: 'wx' })
  return path
}

/** The number of the next file. */
export function nextNumber(names: readonly string[], now: Date): string {
  const numbers = names.flatMap((name) => /^(\d+)(?:[_.-].*)?\.sql$/.exec(name)?.[1] ?? [])
  const newest = numbers.reduce((a, b) => (BigInt(b) >= BigInt(a) ? b : a), '')
  const current = now.toISOString().replace(/\D/g, '').slice(0, 14)
  if (newest === '') return current
  if (newest.length < timestampDigits) return String(BigInt(newest) + 1n).padStart(newest.length, '0')
  // A file of the same second, or of a clock that is ahead.
  return BigInt(newest) < BigInt(current) ? current : String(BigInt(newest) + 1n)
}
