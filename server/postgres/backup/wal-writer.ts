// Writes the write-ahead log to an archive, as segments that get their final names when they are complete.
import { mkdir, open, rename, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { formatLsn } from '../../common/wal-position.ts'
import { syncFolder } from '../../common/sync-folder.ts'
import { pathExists } from '../embedded/missing-file.ts'
import { BackupError } from './backup-error.ts'
import { partialSuffix, segmentName, segmentStart } from './wal-segment.ts'

type OpenSegment = {
  readonly file: FileHandle
  readonly name: string
  readonly start: bigint
  /** Bytes of the file, which an earlier process may have written. */
  size: number
}

/** Writes one timeline, from the beginning of a segment on. */
export class WalWriter {
  readonly #folder: string
  readonly #timeline: number
  readonly #segmentSize: number
  #position: bigint
  #synced: bigint
  #segment: OpenSegment | undefined
  #isDirty = false
  #completed = 0

  /** @param start beginning of a segment */
  constructor(folder: string, timeline: number, segmentSize: number, start: bigint) {
    if (segmentStart(start, segmentSize) !== start) throw new RangeError('not the beginning of a segment')
    this.#folder = folder
    this.#timeline = timeline
    this.#segmentSize = segmentSize
    this.#position = start
    this.#synced = start
  }

  /** What was written so far. */
  get position(): bigint {
    return this.#position
  }

  /** What is on disk. */
  get synced(): bigint {
    return this.#synced
  }

  /** Segments that were completed. */
  get completed(): number {
    return this.#completed
  }

  /**
   * Writes the bytes at a position, which follow those written before. Bytes that the archive has already must be the same.
   *
   * @throws BackupError when the archive has other bytes at this position; the operating system's error
   */
  async write(lsn: bigint, bytes: Uint8Array): Promise<void> {
    if (lsn !== this.#position) {
      throw new BackupError(`The server sent position ${formatLsn(lsn)} instead of ${formatLsn(this.#position)}.`)
    }
    let rest = bytes
    while (rest.length > 0) {
      const segment = (this.#segment ??= await this.#open())
      const offset = Number(this.#position - segment.start)
      const part = rest.subarray(0, this.#segmentSize - offset)
      await this.#writePart(segment, offset, part)
      this.#position += BigInt(part.length)
      this.#isDirty = true
      rest = rest.subarray(part.length)
      if (offset + part.length === this.#segmentSize) await this.#finish(segment)
    }
  }

  /** Flushes everything to disk. */
  async sync(): Promise<void> {
    if (this.#isDirty) await this.#segment?.file.datasync()
    this.#isDirty = false
    this.#synced = this.#position
  }

  async close(): Promise<void> {
    const segment = this.#segment
    this.#segment = undefined
    await segment?.file.close()
  }

  async #open(): Promise<OpenSegment> {
    const name = segmentName(this.#timeline, this.#position, this.#segmentSize)
    const path = join(this.#folder, name)
    // A complete segment is compared with what arrives, like an incomplete one, and never truncated.
    const isComplete = await pathExists(path)
    const current = isComplete ? path : `${path}${partialSuffix}`
    const isNew = !(await pathExists(current))
    const file = await open(current, isNew ? 'wx+' : 'r+', 0o600)
    try {
      const { size } = await file.stat()
      if (isNew) await syncFolder(this.#folder)
      return { file, name, start: this.#position, size }
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async #writePart(segment: OpenSegment, offset: number, bytes: Uint8Array): Promise<void> {
    const known = Math.max(0, Math.min(bytes.length, segment.size - offset))
    const same = known === 0 ? 0 : await this.#compare(segment, offset, bytes.subarray(0, known))
    if (same < bytes.length) await writeAt(segment.file, bytes.subarray(same), offset + same)
    segment.size = Math.max(segment.size, offset + bytes.length)
  }

  /**
   * The number of bytes that are in the file already. After a power failure, and behind the end of the log in a copied
   * segment, there may be zeros, which are replaced.
   */
  async #compare(segment: OpenSegment, offset: number, bytes: Uint8Array): Promise<number> {
    const existing = Buffer.alloc(bytes.length)
    await segment.file.read(existing, 0, existing.length, offset)
    if (existing.equals(bytes)) return bytes.length
    const same = existing.findIndex((byte, index) => byte !== bytes[index])
    if (await isZero(segment, offset + same)) return same
    throw new BackupError(
      `${join(this.#folder, segment.name)} contains another write-ahead log from ${formatLsn(segment.start + BigInt(offset + same))} on. ` +
        'The database in DATA_DIR seems to be an older copy, or another server uses the same folder. Set BACKUP_DIR to a new folder.',
    )
  }

  async #finish(segment: OpenSegment): Promise<void> {
    await segment.file.sync()
    await this.close()
    const path = join(this.#folder, segment.name)
    if (!(await pathExists(path))) {
      await rename(`${path}${partialSuffix}`, path)
      await syncFolder(this.#folder)
    }
    this.#isDirty = false
    this.#synced = this.#position
    this.#completed++
  }
}

/** Whether a segment has nothing but zeros from an offset to its end. */
async function isZero({ file, size }: OpenSegment, from: number): Promise<boolean> {
  const rest = Buffer.alloc(size - from)
  const { bytesRead } = await file.read(rest, 0, rest.length, from)
  return rest.subarray(0, bytesRead).every((byte) => byte === 0)
}

async function writeAt(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, offset + written)
    written += bytesWritten
  }
}

/** Copies the beginning of a timeline to an archive, so that a restore never takes the log of its parent for it. */
export async function archiveBytes(
  folder: string,
  timeline: number,
  segmentSize: number,
  start: bigint,
  bytes: Uint8Array,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const writer = new WalWriter(folder, timeline, segmentSize, start)
  try {
    await writer.write(start, bytes)
    await writer.sync()
  } finally {
    await writer.close()
  }
}
