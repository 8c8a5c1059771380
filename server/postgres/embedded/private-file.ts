// Files with secrets, written atomically and readable only by their owner.
import { randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { hasErrorCode } from './embedded-error.ts'

/** The text of a private file; null if it does not exist. Removes permissions of other users, which copies often have. */
export async function readPrivate(file: string): Promise<string | null> {
  try {
    const { mode } = await stat(file)
    if ((mode & 0o077) !== 0) await chmod(file, 0o600)
    return await readFile(file, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  }
}

/** Creates a private file. Keeps an existing one. */
export const createPrivate = (file: string, text: string): Promise<void> =>
  viaDraft(file, text, async (draft) => {
    await link(draft, file).catch((error: unknown) => {
      if (!hasErrorCode(error, 'EEXIST')) throw error
    })
  })

/** Creates or replaces a private file. */
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
