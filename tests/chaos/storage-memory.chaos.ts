// Large uploads and downloads need little memory, on both stores. STORAGE_MEMORY_MIB=2048 transfers as many MiB as the
// product promises.
import { rm } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { jwtSecret } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { nodeOptions } from '../support/node-options.ts'
import { main, startProgram } from '../support/program.ts'
import { s3Environment, startS3 } from '../support/s3-server.ts'
import { askStorage, storageBearer } from '../support/storage.ts'
import { downloadBytes, peakMemory, uploadBytes } from '../support/storage-transfer.ts'

t.setTimeout(600_000)

const mebibyte = 1024 * 1024

type Case = {
  readonly name: string
  readonly open: (t: Test) => Promise<Readonly<Record<string, string>>>
  /** MiB of the object. */
  readonly size: number
}

/**
 * MiB that transfers may need in addition to the memory of the server: some 60 of them are the garbage of a busy machine.
 * An object that is kept as a whole needs two or three times as much.
 */
const most = 90

const size = (usual: number): number => Number(process.env.STORAGE_MEMORY_MIB ?? usual)

const cases: readonly Case[] = [
  {
    name: 'a folder',
    size: size(200),
    open: (t) => {
      const folder = t.testdir()
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      return Promise.resolve({ STORAGE_FILE_BACKEND_PATH: folder })
    },
  },
  { name: 'an S3 server', size: size(300), open: async (t) => s3Environment(await startS3(t)) },
]

for (const { name, open, size } of cases) {
  t.test(
    `the memory of a large upload to ${name}, and of its download`,
    { skip: process.platform !== 'linux' && 'needs /proc' },
    async (t) => {
      const database = await createMigratedDatabase()
      t.teardown(database.drop)
      const environment = {
        DATABASE_URL: database.authenticatorUri,
        PGRST_JWT_SECRET: jwtSecret,
        FILE_SIZE_LIMIT: String(size * mebibyte),
        ...(await open(t)),
      }
      const program = startProgram(t, environment, [], [process.execPath, ...nodeOptions, main])
      await program.line(({ event }) => event === 'listening')
      const atStart = await peakMemory(program.pid)
      const ask = askStorage(program.url())
      await ask('POST', '/bucket', { as: 'service_role', body: { name: 'b', public: true } })
      const authorization = await storageBearer('service_role')
      const sent = await uploadBytes(`${program.url()}/storage/v1/object/b/large`, authorization, size * mebibyte)
      const afterUpload = await peakMemory(program.pid)
      const received = await downloadBytes(`${program.url()}/storage/v1/object/public/b/large`)
      const afterDownload = await peakMemory(program.pid)
      t.equal(received, sent, 'the same bytes')
      const peaks = [atStart, afterUpload, afterDownload].map((peak) => Math.round(peak))
      t.comment(
        `peak: ${peaks[0]} MiB at the start, ${peaks[1]} MiB after the upload, ${peaks[2]} MiB after the download`,
      )
      t.ok(afterDownload - atStart < most, 'the size of an object does not matter')
    },
  )
}
