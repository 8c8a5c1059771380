// Files of secrets: whole or not there, and readable by nobody else.
import { randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { isFault } from './fault.ts'

/** The text of a private file; null when there is none. Takes away what others may do with it: copies often have too much. */
export async function readPrivate(file: string): Promise<string | null> {
  try {
    const { mode } = await stat(file)
    if ((mode & 0o077) !== 0) await chmod(file, 0o600)
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isFault(error, 'ENOENT')) return null
    throw error
  }
}

/** Writes a private file. One that is there already stays as it is. */
export const createPrivate = (file: string, text: string): Promise<void> =>
  viaDraft(file, text, async (draft) => {
    await link(draft, file).catch((error: unknown) => {
      if (!isFault(error, 'EEXIST')) throw error
    })
  })

/** Writes a private file, in place of one that may be there. */
export const replacePrivate = (file: string, text: string): Promise<void> =>
  viaDraft(file, text, (draft) => rename(draft, file))

async function viaDraft(file: string, text: string, settle: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await settle(draft)
  } finally {
    await rm(draft, { force: true })
  }
}
