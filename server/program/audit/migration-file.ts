// Adds a file to a folder of migrations.
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Folders of migrations in the working folder, the first existing one of which is used. */
const usualFolders = ['migrations', 'supabase/migrations'] as const

/** The folder of migrations in the working folder; undefined if there is none. */
export async function usualFolder(): Promise<string | undefined> {
  for (const folder of usualFolders) {
    const isFolder = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (isFolder) return folder
  }
  return undefined
}

/**
 * Writes a new migration, named like the others: by the next number, or by the time if they are, or there are none.
 *
 * @param title for the name; characters other than letters and digits become underscores
 * @returns the path
 * @throws the error of the operating system; when the file exists
 */
export async function addMigration(folder: string, title: string, sql: string, now = new Date()): Promise<string> {
  const numbers = (await readdir(folder)).flatMap((name) => /^(\d+)[_.-].*\.sql$/.exec(name)?.[1] ?? [])
  const slug = title.replaceAll(/[^\p{L}\p{N}]+/gu, '_').toLowerCase()
  const path = join(folder, `${nextNumber(numbers, now)}_${slug}.sql`)
  await writeFile(path, sql, { flag: 'wx' })
  return path
}

/** Digits of a timestamp such as 20261122233000. */
const timestampLength = 14

function nextNumber(numbers: readonly string[], now: Date): string {
  const stamp = now.toISOString().replaceAll(/\D/g, '').slice(0, timestampLength)
  const last = numbers.reduce((a, b) => (BigInt(b) > BigInt(a) ? b : a), '0')
  if (numbers.length === 0 || (last.length === timestampLength && stamp > last)) return stamp
  return String(BigInt(last) + 1n).padStart(last.length, '0')
}
