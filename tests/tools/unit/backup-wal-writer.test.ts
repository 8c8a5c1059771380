// The segments of the archive: continued after a kill, never overwritten by another log; copies that fail; and the switch to a
// restored database.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { inParallel } from '../../../server/common/in-parallel.ts'
import { WalWriter } from '../../../server/postgres/backup/wal-writer.ts'
import { finishReplacing, replaceData } from '../../../server/postgres/embedded/replaced-data.ts'

const size = 1024 * 1024
const start = BigInt(size)

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'rowhouse-wal-'))
  t.teardown(() => rm(made, { recursive: true, force: true }))
  return made
}

const bytes = (length: number, seed = 1): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, index) => ((index * seed) % 255) + 1))

/** Writes pieces from the first segment on, and returns how far it came. */
async function write(path: string, ...pieces: readonly Buffer[]): Promise<bigint> {
  const writer = new WalWriter(path, 1, size, start)
  try {
    for (const piece of pieces) await writer.write(writer.position, piece)
    await writer.sync()
    return writer.synced
  } finally {
    await writer.close()
  }
}

t.test('a segment gets its name when it is complete', async (t) => {
  const path = await folder(t)
  const log = bytes(size + 5000)
  t.equal(await write(path, log.subarray(0, 700)), start + 700n)
  t.strictSame(await readdir(path), ['000000010000000000000001.partial'])
  t.equal(await write(path, log.subarray(0, 300), log.subarray(300)), start + BigInt(log.length))
  t.strictSame((await readdir(path)).sort(), ['000000010000000000000001', '000000010000000000000002.partial'])
  t.ok((await readFile(join(path, '000000010000000000000001'))).equals(log.subarray(0, size)))
  t.equal(await write(path, log), start + BigInt(log.length), 'the same again')
})

t.test('another log is never written over an archived one', async (t) => {
  const path = await folder(t)
  await write(path, bytes(9000))
  const other = bytes(9000)
  other[8000] = 0
  await t.rejects(write(path, other), /contains another write-ahead log from 0\/101F40 on/)
  t.ok((await readFile(join(path, '000000010000000000000001.partial'))).equals(bytes(9000)))
  await write(path, bytes(size))
  await t.rejects(write(path, bytes(size, 2)), /contains another/, 'nor over a complete segment')
})

t.test('zeros at the end, which a power failure may leave, are replaced', async (t) => {
  const path = await folder(t)
  await writeFile(join(path, '000000010000000000000001.partial'), Buffer.concat([bytes(400), Buffer.alloc(600)]))
  t.equal(await write(path, bytes(900)), start + 900n)
  const written = await readFile(join(path, '000000010000000000000001.partial'))
  t.ok(written.subarray(0, 900).equals(bytes(900)))
})

t.test('bytes out of order are refused', async (t) => {
  const writer = new WalWriter(await folder(t), 1, size, start)
  await t.rejects(writer.write(start + 1n, bytes(1)), /sent position 0\/100001 instead of 0\/100000/)
})

t.test('after an error, no file is begun, and those that were have ended', async (t) => {
  let [begun, ended] = [0, 0]
  const copy = async (item: number): Promise<void> => {
    begun++
    await new Promise((resolve) => setTimeout(resolve, item === 0 ? 1 : 20))
    if (item === 0) throw new Error('the disk is full')
    ended++
  }
  const items = Array.from({ length: 100 }, (_, item) => item)
  await t.rejects(inParallel(items, copy), /the disk is full/)
  t.strictSame([begun, ended], [8, 7])
})

t.test('a switch that was killed is completed by the next start', async (t) => {
  for (const moment of ['before', 'between', 'after'] as const) {
    const dataDir = await folder(t)
    const place = (...names: string[]): string => join(dataDir, ...names)
    await mkdir(place('staged/postgres'), { recursive: true })
    await writeFile(place('staged/postgres/PG_VERSION'), 'new')
    if (moment !== 'after') await mkdir(place('postgres'))
    if (moment !== 'after') await writeFile(place('postgres/PG_VERSION'), 'old')
    const journal = JSON.stringify({ staged: 'staged', aside: 'aside' })
    if (moment === 'before') await replaceData(dataDir, { staged: 'staged', aside: 'aside' })
    else {
      await writeFile(place('replacing.json'), journal)
      await mkdir(place('aside'))
      if (moment === 'after') {
        await mkdir(place('aside/postgres'))
        await writeFile(place('aside/postgres/PG_VERSION'), 'old')
      }
    }
    await finishReplacing(dataDir)
    await finishReplacing(dataDir)
    t.equal(await readFile(place('postgres/PG_VERSION'), 'utf8'), 'new', moment)
    t.equal(await readFile(place('aside/postgres/PG_VERSION'), 'utf8'), 'old', moment)
    t.strictSame((await readdir(dataDir)).sort(), ['aside', 'postgres'])
  }
})
