// Large uploads and downloads need little memory. STORAGE_MEMORY_MIB=2048 transfers as many MiB as the product promises.
import { rm } from 'node:fs/promises'
import t from 'tap'
import { jwtSecret } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { main, startProgram } from '../support/program.ts'
import { askStorage, storageBearer } from '../support/storage.ts'
import { downloadBytes, peakMemory, uploadBytes } from '../support/storage-transfer.ts'

t.setTimeout(600_000)

const mebibyte = 1024 * 1024
const size = Number(process.env.STORAGE_MEMORY_MIB ?? 200) * mebibyte
/** MiB that transfers may need in addition to the memory of the server. */
const most = 48

t.test(
  'the memory of a large upload and download',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async (t) => {
    const database = await createMigratedDatabase()
    t.teardown(database.drop)
    const folder = t.testdir()
    const environment = {
      DATABASE_URL: database.authenticatorUri,
      PGRST_JWT_SECRET: jwtSecret,
      STORAGE_FILE_BACKEND_PATH: folder,
      FILE_SIZE_LIMIT: String(size),
    }
    // As `npm start` does it.
    const program = startProgram(t, environment, [], [process.execPath, '--max-semi-space-size=8', main])
    await program.line(({ event }) => event === 'listening')
    const atStart = await peakMemory(program.pid)
    const ask = askStorage(program.url())
    await ask('POST', '/bucket', { as: 'service_role', body: { name: 'b', public: true } })
    const sent = await uploadBytes(
      `${program.url()}/storage/v1/object/b/large`,
      await storageBearer('service_role'),
      size,
    )
    const afterUpload = await peakMemory(program.pid)
    const received = await downloadBytes(`${program.url()}/storage/v1/object/public/b/large`)
    const afterDownload = await peakMemory(program.pid)
    t.equal(received, sent, 'the same bytes')
    t.comment(
      `peak: ${Math.round(atStart)} MiB at the start, ${Math.round(afterUpload)} MiB after the upload, ${Math.round(afterDownload)} MiB after the download`,
    )
    t.ok(afterDownload - atStart < most, 'the size of an object does not matter')
    await rm(folder, { recursive: true, force: true })
  },
)
