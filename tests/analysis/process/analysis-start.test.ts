// The start of the analyser process: what callers get while it loads models, and after a start that failed.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { startApplication, type Application } from '../../support/application.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { form, patient, prefix, upload } from '../../support/image-upload.ts'
import { colourClassifier } from '../../support/models.ts'
import { writeOnnx } from '../../support/onnx.ts'
import { until } from '../../support/until.ts'
import { lake } from '../../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-start-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const start = (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}): Promise<Application> =>
  startApplication(t, database.authenticatorUri, { ...patient, ...env })
/** The analyser processes started since then. */
async function watchChildren(): Promise<() => Promise<readonly number[]>> {
  const before = new Set(await childProcesses(process.pid, 'analyser/main.'))
  return async () => (await childProcesses(process.pid, 'analyser/main.')).filter((pid) => !before.has(pid))
}
const image = await lake()
const predict = (url: string) => upload(url, '/predict', form(['file', { bytes: image }]))

t.test('without a model, a failed start is followed by another one', async (t) => {
  const { NODE_OPTIONS } = process.env
  const restore = (): void => {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = NODE_OPTIONS
  }
  t.teardown(restore)
  process.env.NODE_OPTIONS = `${NODE_OPTIONS ?? ''} --no-such-option`
  const app = await start(t)
  t.equal((await predict(app.url)).status, 503)
  t.match(
    await app.call('GET', `${prefix}/ready`),
    { status: 503, body: { detail: /no-such-option/ } },
    'with the reason',
  )
  restore()
  t.ok(await until(async () => (await app.call('GET', `${prefix}/ready`)).status === 200), 'it is ready again')
  t.match(await predict(app.url), { status: 200, body: { classification: 'non_water_hyacinth' } })
})

t.test('frames that arrive while a model is being loaded are answered', async (t) => {
  const classifier = await writeOnnx(join(folder, 'colour.onnx'), colourClassifier(32), {
    names: `['red', 'water hyacinth', 'blue']`,
  })
  const children = await watchChildren()
  const app = await start(t, { IMAGE_CLASSIFIER: classifier })
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  const [pid = 0] = await children()
  t.equal(getPriority(pid), constants.priority.PRIORITY_BELOW_NORMAL, 'requests go before images')
  process.kill(pid, 'SIGKILL')
  t.ok(await until(() => app.logged().some(({ msg }) => String(msg).includes('The analyser ended'))))
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}${prefix}/ws/live-detect`)
  t.teardown(() => socket.terminate())
  const received: unknown[] = []
  socket.on('message', (data) => received.push(JSON.parse((data as Buffer).toString())))
  await new Promise((resolve) => socket.once('open', resolve))
  t.match((await app.call('GET', `${prefix}/health`)).body, { classifier_loaded: false }, 'the model is not loaded yet')
  for (const frame_id of [1, 2]) socket.send(JSON.stringify({ frame_id, image_base64: image.toString('base64') }))
  t.ok(await until(() => received.length === 2), JSON.stringify(received))
  t.match(received, [
    { frame_id: 1, classification: String },
    { frame_id: 2, classification: String },
  ])
})

t.test('callers do not wait for models to load as long as the start may take', async (t) => {
  // Nothing is ever written into this pipe.
  const endless = join(folder, 'endless.onnx')
  await promisify(execFile)('mkfifo', [endless])
  const children = await watchChildren()
  const app = await start(t, { IMAGE_CLASSIFIER: endless, IMAGE_TIMEOUT: '2' })
  const begun = performance.now()
  const answers = await Promise.all([predict(app.url), app.call('GET', `${prefix}/ready`)])
  const [pid = 0] = await children()
  t.equal(getPriority(pid), getPriority(), 'a busy machine lets it start')
  for (const answer of answers) t.match(answer, { status: 503, body: { detail: 'The analyser is still starting.' } })
  t.ok(performance.now() - begun < 30_000, 'long before the start itself is given up')
  t.match(await app.call('GET', `${prefix}/health`), { status: 200, body: { classifier_loaded: false } })
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}${prefix}/ws/live-detect`)
  const received: string[] = []
  socket.on('message', (data) => received.push((data as Buffer).toString()))
  t.equal(await new Promise((resolve) => socket.once('close', resolve)), 1013)
  t.strictSame(received, ['{"detail":"The analyser is still starting."}'])
})
