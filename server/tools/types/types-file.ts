// The file with the generated types.
import { readFile, writeFile } from 'node:fs/promises'

/** The text of a file, or undefined when it does not exist. A checkout on Windows may have changed its line ends. */
async function readText(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).replaceAll('\r\n', '\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Writes the types, unless the file has them already: programs that watch it need not notice.
 *
 * @returns whether the file was written
 * @throws the error of the file system
 */
export async function writeTypes(file: string, types: string): Promise<boolean> {
  if ((await readText(file)) === types) return false
  await writeFile(file, types)
  return true
}

/** Lines of a difference that are shown. */
const maxLines = 40

/**
 * Compares the file with the types.
 *
 * @returns null if the file is up to date, otherwise the lines to remove (`-`) and to add (`+`), at most 40; no lines if there
 *   is no file
 * @throws the error of the file system
 */
export async function compareTypes(file: string, types: string): Promise<readonly string[] | null> {
  const text = await readText(file)
  if (text === undefined) return []
  if (text === types) return null
  const { structuredPatch } = await import('diff')
  const { hunks } = structuredPatch(file, file, text, types, '', '', { context: 2 })
  const lines = hunks.flatMap((hunk) => [`@@ line ${hunk.newStart} @@`, ...hunk.lines])
  if (lines.length <= maxLines) return lines
  return [...lines.slice(0, maxLines), `… and ${lines.length - maxLines} more lines`]
}
