// Keeps the bytes of objects in a folder: `objects/<two digits>/<id>`, and unfinished ones in `incoming`.
import { createHash, randomUUID } from 'node:crypto'
import { close as closeFile, open as openFile, read as readInto } from 'node:fs'
import { link, mkdir, open, opendir, readdir, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { lazy } from '../../../common/lazy.ts'
import { syncFolder } from '../../../common/sync-folder.ts'
import {
  MissingBytesError,
  NoSpaceError,
  StoreError,
  TooManyBytesError,
  type ByteRange,
  type ListedBytes,
  type ObjectKey,
  type ObjectStore,
  type PutOptions,
  type StoredBytes,
} from '../object-store.ts'
import { idOfBytes, versionOf } from './bytes-id.ts'

/** Bytes of a read of a large file. */
const highWaterMark = 256 * 1024
/** Bytes that are collected before a write. */
const writeSize = 256 * 1024
/** Chunks that are collected before a write. A chunk of one byte takes many times its size. */
const mostWaiting = 1024

const folders = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'))

export class FileStore implements ObjectStore {
  readonly #folder: string
  readonly #incoming: string

  readonly #folders = new Map<string, Promise<FileHandle>>()

  /** @param folder is created by `prepare`, or by the first upload */
  constructor(folder: string) {
    this.#folder = folder
    this.#incoming = join(folder, 'incoming')
  }

  /**
   * Creates the folder if necessary, and finds out whether it can be written.
   *
   * @throws the operating system's error
   */
  readonly prepare = lazy(() => this.#prepare())

  async #prepare(): Promise<void> {
    const objects = join(this.#folder, 'objects')
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 })
    await mkdir(objects, { recursive: true, mode: 0o700 })
    const known = new Set(await readdir(objects))
    for (const name of folders) {
      if (!known.has(name)) await mkdir(join(objects, name), { recursive: true, mode: 0o700 })
    }
    if (known.size < folders.length) {
      for (const folder of [objects, this.#folder, dirname(this.#folder)]) await syncFolder(folder)
    }
    const probe = join(this.#incoming, `probe-${randomUUID()}`)
    await (await open(probe, 'wx', 0o600)).close()
    await removeFile(probe)
  }

  async put(key: ObjectKey, source: Readable, { maxBytes, signal }: PutOptions): Promise<StoredBytes> {
    return this.#write(key, async (file) => {
      const hash = createHash('md5')
      let size = 0
      let waiting: Buffer[] = []
      let waitingSize = 0
      const flush = async (): Promise<void> => {
        const full = waiting
        waiting = []
        waitingSize = 0
        if (full.length > 0) await writeAll(file, full)
      }
      // A request must stay open for the response when its body is refused.
      const chunks = source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
      for await (const chunk of chunks) {
        signal?.throwIfAborted()
        size += chunk.length
        if (size > maxBytes) throw new TooManyBytesError()
        hash.update(chunk)
        waiting.push(chunk)
        waitingSize += chunk.length
        if (waitingSize >= writeSize || waiting.length >= mostWaiting) await flush()
      }
      signal?.throwIfAborted()
      await flush()
      return { size, eTag: `"${hash.digest('hex')}"` }
    })
  }

  async get(key: ObjectKey, range?: ByteRange): Promise<Readable> {
    const file = await openMissing(this.#pathOf(key))
    return file.createReadStream({ highWaterMark, ...(range ? { start: range.start, end: range.end } : {}) })
  }

  getWhole(key: ObjectKey, size: number): Promise<Buffer> {
    const path = this.#pathOf(key)
    return new Promise((resolve, reject) => {
      openFile(path, 'r', (error, file) => {
        if (error) {
          reject(missingOr(error))
          return
        }
        const bytes = Buffer.allocUnsafe(size)
        readInto(file, bytes, 0, size, 0, (failure, count) => {
          closeFile(file, () => undefined)
          if (failure) reject(new StoreError({ cause: failure }))
          else if (count < size) reject(new MissingBytesError())
          else resolve(bytes)
        })
      })
    })
  }

  async copy(from: ObjectKey, to: ObjectKey): Promise<StoredBytes> {
    const source = await this.get(from)
    try {
      const options = { contentType: '', cacheControl: '', maxBytes: Number.MAX_SAFE_INTEGER }
      return await this.put(to, source, options)
    } finally {
      source.destroy()
    }
  }

  async remove(keys: readonly ObjectKey[]): Promise<void> {
    await this.removeListed(keys.map((key) => idOfBytes(key)).filter((id) => id !== undefined))
  }

  async *list(): AsyncIterable<ListedBytes> {
    await this.prepare()
    for (const name of folders) {
      for await (const entry of await opendir(join(this.#folder, 'objects', name))) {
        const version = versionOf(entry.name)
        if (version === undefined) continue
        const found = await stat(this.#pathOfId(entry.name)).catch(ifMissing)
        if (found) yield { id: entry.name, version, lastModified: found.mtime }
      }
    }
  }

  idOf(key: ObjectKey): string {
    return idOfBytes(key) ?? ''
  }

  async removeListed(ids: readonly string[]): Promise<void> {
    for (const id of ids) await removeFile(this.#pathOfId(id))
  }

  async removeRemnants(before: Date): Promise<void> {
    await this.prepare()
    for await (const entry of await opendir(this.#incoming)) {
      const path = join(this.#incoming, entry.name)
      const found = await stat(path).catch(ifMissing)
      if (found && found.mtime < before) await removeFile(path)
    }
  }

  async claim(database: string): Promise<boolean> {
    await this.prepare()
    const mark = join(this.#folder, 'database')
    const draft = join(this.#incoming, randomUUID())
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(`${database}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    // Fails if there is a mark. A rename would replace it.
    await link(draft, mark).catch(ifExists)
    await removeFile(draft)
    return (await readFile(mark, 'utf8')).trim() === database
  }

  async close(): Promise<void> {
    const opened = [...this.#folders.values()]
    this.#folders.clear()
    for (const folder of opened) await (await folder).close()
  }

  /** Writes a file under a temporary name, which becomes durable under its own name only when it is complete. */
  async #write(
    key: ObjectKey,
    fill: (file: FileHandle) => Promise<Pick<StoredBytes, 'size' | 'eTag'>>,
  ): Promise<StoredBytes> {
    const path = this.#pathOf(key)
    const draft = join(this.#incoming, randomUUID())
    let current = draft
    try {
      await this.prepare()
      const file = await open(draft, 'wx', 0o600)
      let written: Pick<StoredBytes, 'size' | 'eTag'>
      try {
        written = await fill(file)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(draft, path)
      current = path
      await this.#syncFolderOf(path)
      return { ...written, lastModified: new Date() }
    } catch (error) {
      await removeFile(current).catch(() => undefined)
      throw storeError(error)
    }
  }

  /** Makes the names of new files in a folder durable. The folders stay open: every upload needs one. */
  async #syncFolderOf(path: string): Promise<void> {
    const folder = dirname(path)
    let opened = this.#folders.get(folder)
    if (!opened) {
      opened = open(folder, 'r')
      opened.catch(() => this.#folders.delete(folder))
      this.#folders.set(folder, opened)
    }
    const handle = await opened
    await handle.sync()
  }

  #pathOf(key: ObjectKey): string {
    const id = idOfBytes(key)
    if (id === undefined) throw new MissingBytesError()
    return this.#pathOfId(id)
  }

  #pathOfId(id: string): string {
    return join(this.#folder, 'objects', id.slice(0, 2), id)
  }
}

async function writeAll(file: FileHandle, chunks: Buffer[]): Promise<void> {
  let left = chunks
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left)
    left = without(left, bytesWritten)
  }
}

/** What is left of the chunks when their first bytes have been written. */
function without(chunks: readonly Buffer[], written: number): Buffer[] {
  let rest = written
  return chunks.flatMap((chunk) => {
    const skipped = Math.min(rest, chunk.length)
    rest -= skipped
    return skipped === chunk.length ? [] : [chunk.subarray(skipped)]
  })
}

/** Unlike `rm`, which asks what it removes first, in one call of the operating system. */
async function removeFile(path: string): Promise<void> {
  await unlink(path).catch(ifMissing)
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** Errors of the operating system as those of the store; others, such as those of the source, as they are. */
function storeError(error: unknown): unknown {
  if (['ENOSPC', 'EDQUOT'].includes(String(codeOf(error)))) return new NoSpaceError({ cause: error })
  return error instanceof Error && 'syscall' in error ? new StoreError({ cause: error }) : error
}

const missingOr = (error: Error): Error =>
  codeOf(error) === 'ENOENT' ? new MissingBytesError({ cause: error }) : new StoreError({ cause: error })

const openMissing = (path: string): Promise<FileHandle> =>
  open(path, 'r').catch((error: Error) => {
    throw missingOr(error)
  })

function ifExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}
