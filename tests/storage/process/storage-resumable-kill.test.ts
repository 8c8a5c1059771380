// The database, and the server, are killed during resumable uploads: every acknowledged byte is there afterwards, nothing is half
// visible, and the uploads continue where they were. `storage-resumable-client.test.ts` kills the server with its bytes on S3.
import { randomBytes, randomInt } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { jwtSecret } from '../../support/application.ts'
import { startProgram, type Program } from '../../support/program.ts'
import { askStorage } from '../../support/storage.ts'
import { until } from '../../support/until.ts'

// Each round starts the program, and recovers the database.

const as = 'service_role'
const tus = { 'Tus-Resumable': '1.0.0' }
const pieceSize = 700_000
const pieces = 6

type ResumedUpload = {
  readonly name: string
  readonly bytes: Buffer
  readonly path: string
  /** Position up to which the server has acknowledged bytes. */
  acknowledged: number
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

async function create(program: Program, name: string): Promise<ResumedUpload> {
  const bytes = randomBytes(pieces * pieceSize - randomInt(1, 1000))
  const metadata = `bucketName ${base64('b')},objectName ${base64(name)},contentType ${base64('text/plain')}`
  const { headers } = await askStorage(program.url())('POST', '/upload/resumable', {
    as,
    headers: { ...tus, 'Upload-Length': String(bytes.length), 'Upload-Metadata': metadata },
  })
  const location = new URL(headers.get('location') ?? '')
  return { name, bytes, path: location.pathname.replace('/storage/v1', ''), acknowledged: 0 }
}

/** Sends one piece after another from a position on, until all are acknowledged or one is not. */
async function send(program: Program, upload: ResumedUpload, from: number): Promise<void> {
  for (let at = from; at < upload.bytes.length; at = upload.acknowledged) {
    const body = upload.bytes.subarray(at, at + pieceSize)
    const headers = { ...tus, 'Upload-Offset': String(at), 'Content-Type': 'application/offset+octet-stream' }
    const answer = await askStorage(program.url())('PATCH', upload.path, { as, body, headers }).catch(() => undefined)
    if (answer?.status !== 204) return
    upload.acknowledged = Number(answer.headers.get('upload-offset'))
  }
}

async function checkAndResume(t: Test, program: Program, upload: ResumedUpload): Promise<void> {
  const { name, bytes, path, acknowledged } = upload
  const ask = askStorage(program.url())
  const head = await ask('HEAD', path, { as, headers: tus })
  t.equal(head.status, 200, `${name} is known`)
  const offset = Number(head.headers.get('upload-offset'))
  t.ok(offset >= acknowledged, `${name}: ${offset} of ${acknowledged} acknowledged bytes`)
  t.ok(offset <= acknowledged + pieceSize, `${name}: not more than was sent`)
  const before = await ask('GET', `/object/public/b/${name}`)
  if (offset < bytes.length) {
    t.equal(before.status, 400, `${name} is not visible`)
    await send(program, upload, offset)
  } else t.ok(before.bytes.equals(bytes), `${name} is complete`)
  t.ok((await ask('GET', `/object/public/b/${name}`)).bytes.equals(bytes), `${name} is whole`)
}

const parent = await mkdtemp(join(tmpdir(), 'rowhouse-resumable-kill-'))
await chmod(parent, 0o711)
t.teardown(() => rm(parent, { recursive: true, force: true }))
const dataDir = join(parent, 'data')

async function start(t: Test): Promise<Program> {
  const program = startProgram(t, { DATA_DIR: dataDir, PGRST_JWT_SECRET: jwtSecret })
  await program.line(({ event }) => event === 'listening')
  const isReady = await until(async () => (await askStorage(program.url())('GET', '/bucket', { as })).status === 200)
  t.ok(isReady, 'the server is ready')
  return program
}

const postmasterPid = async (): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])

let interrupted: ResumedUpload[] = []

async function resume(t: Test, program: Program): Promise<void> {
  for (const upload of interrupted) await checkAndResume(t, program, upload)
}

// During one of the first pieces, and during the last, which joins the others.
const rounds = [
  ['database', 1],
  ['database', pieces - 1],
  ['server', pieces - 1],
] as const
for (const [round, [victim, least]] of rounds.entries()) {
  t.test(`the ${victim} is killed after ${least} of ${pieces} pieces`, async (t) => {
    const program = await start(t)
    await askStorage(program.url())('POST', '/bucket', { as, body: { name: 'b', public: true } })
    await resume(t, program)
    const uploads = [await create(program, `a-${round}`), await create(program, `b-${round}`)]
    const sent = Promise.all(uploads.map((upload) => send(program, upload, 0)))
    const isFarEnough = (): boolean => uploads.some(({ acknowledged }) => acknowledged >= least * pieceSize)
    t.ok(await until(isFarEnough), 'pieces are acknowledged')
    if (victim === 'database') {
      process.kill(await postmasterPid(), 'SIGKILL')
      await sent
    }
    program.kill('SIGKILL')
    await Promise.all([sent, program.ended])
    interrupted = uploads
  })
}

t.test('afterwards', async (t) => {
  const program = await start(t)
  await resume(t, program)
  program.kill('SIGTERM')
  await program.ended
})
