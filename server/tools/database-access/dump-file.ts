// Reads and writes the files of dumps, which may be compressed.
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { syncFolder } from '../../common/sync-folder.ts'
import { createGunzip, createGzip } from 'node:zlib'

/**
 * Writes a file that only its owner can read. It gets its name when it is complete, so there is never a part of it
 * under that name. A device or a pipe is written to directly: it must not be replaced by a file.
 *
 * @param name compressed if the name ends with `.gz`
 * @throws the error of the operating system, or of `write`
 */
export async function writeWhole<T>(name: string, write: (output: Writable) => Promise<T>): Promise<T> {
  const existing = await stat(name).catch(() => undefined)
  if (existing && !existing.isFile()) return ended(createWriteStream(name), write)
  // The target of a symbolic link is replaced, not the link.
  const file = existing ? await realpath(name) : name
  const draft = `${file}.${randomBytes(4).toString('hex')}.partial`
  const output = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true })
  try {
    const result = file.endsWith('.gz') ? await compressed(output, write) : await ended(output, write)
    await rename(draft, file)
    await syncFolder(dirname(file))
    return result
  } catch (error) {
    output.destroy()
    // It may still be opening the file, which would be there again.
    if (!output.closed) await new Promise<void>((resolve) => output.once('close', resolve))
    await rm(draft, { force: true })
    throw error
  }
}

async function ended<T>(output: Writable, write: (output: Writable) => Promise<T>): Promise<T> {
  // Fails `write` as soon as the disk is full.
  const failure = new Promise<never>((_resolve, reject) => output.once('error', reject))
  failure.catch(() => undefined)
  const result = await Promise.race([write(output), failure])
  output.end()
  await finished(output)
  return result
}

async function compressed<T>(file: Writable, write: (output: Writable) => Promise<T>): Promise<T> {
  const gzip = createGzip()
  const written = pipeline(gzip, file)
  written.catch(() => undefined)
  const result = await ended(gzip, write)
  await written
  return result
}

/**
 * The bytes of a file, decompressed if they are compressed with gzip.
 *
 * @throws the error of the operating system when the file cannot be opened
 */
export async function inputFrom(file: string): Promise<AsyncIterable<Buffer>> {
  const handle = await open(file)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  const isCompressed = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  const bytes: Readable = handle.createReadStream({ start: 0, highWaterMark: 256 * 1024 })
  if (!isCompressed) return bytes as AsyncIterable<Buffer>
  const gunzip = createGunzip()
  // The reader sees the error.
  pipeline(bytes, gunzip).catch(() => undefined)
  return gunzip as AsyncIterable<Buffer>
}
