// The limits of the image analysis: floods, disconnected clients, endless analyses, and crashes of its process.
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cpuSecondsOf } from '../../bench/process-usage.ts'
import { startApplication, type Application } from '../../support/application.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { hostileFiles } from '../../support/hostile-images.ts'
import { form, patient, prefix, upload } from '../../support/image-upload.ts'
import { colourClassifier, endlessClassifier } from '../../support/models.ts'
import { writeOnnx } from '../../support/onnx.ts'
import { startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'
import { lake, noise, picture } from '../../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-limits-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

// Metrics exist only for an admin server to read.
const start = (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}): Promise<Application> =>
  startApplication(t, database.authenticatorUri, { ...patient, PGRST_ADMIN_SERVER_PORT: '1', ...env })
const image = await lake()
const one = () => form(['file', { bytes: image }])
const predict = (url: string, headers?: Readonly<Record<string, string>>) => upload(url, '/predict', one(), headers)

/** The analyser processes started since then. */
async function watchChildren(): Promise<() => Promise<readonly number[]>> {
  const analysers = () => childProcesses(process.pid, 'analyser/main.')
  const before = new Set(await analysers())
  return async () => (await analysers()).filter((pid) => !before.has(pid))
}
const metric = async ({ service }: Application, name: string): Promise<number> => {
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(await service.metrics.text()) ?? []
  return Number(value)
}

t.test('the process is started at first use, and ends with the server', async (t) => {
  const children = await watchChildren()
  const ends: (() => unknown)[] = []
  const app = await startApplication({ teardown: (end) => ends.push(end) }, database.authenticatorUri, patient)
  t.equal((await app.call('GET', `${prefix}/health`)).status, 200)
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  t.equal((await predictNothing(app)).status, 422)
  t.strictSame(await children(), [], 'reading descriptions does not start it')
  t.equal((await predict(app.url)).status, 200)
  t.equal((await children()).length, 1)
  for (const end of ends.reverse()) await end()
  t.ok(await until(async () => (await children()).length === 0), 'the process has ended')
})
const predictNothing = (app: Application) => upload(app.url, '/predict', form(['x', 'y']))

t.test('image-rate-limit limits the number of images per minute', async (t) => {
  const app = await start(t, { IMAGE_RATE_LIMIT: '3', TRUSTED_PROXIES: '1' })
  const from = (address: string) => predict(app.url, { 'X-Forwarded-For': address })
  for (let n = 0; n < 3; n++) t.equal((await from('203.0.113.7')).status, 200)
  const refused = await from('203.0.113.7')
  t.equal(refused.status, 429)
  t.match(refused.body, { detail: 'Too many images: try again later.' })
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await from('203.0.113.8')).status, 200, 'another address')
  const batch = form(...Array.from({ length: 4 }, () => ['files', { bytes: image }] as const))
  t.equal(
    (await upload(app.url, '/predict/batch', batch, { 'X-Forwarded-For': '203.0.113.9' })).status,
    429,
    'every image counts',
  )
})

t.test('a killed process is replaced, and its image gets an error instead of a result', async (t) => {
  const children = await watchChildren()
  const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
    names: `['water hyacinth', 'other']`,
  })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier })
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  const black = await picture(32, 32, '#000000').png().toBuffer()
  const answered = predict(app.url)
  t.ok(
    await until(async () => (await metric(app, 'image_analysis_queue_seconds_count')) === 1),
    'the analysis is running',
  )
  // Other images are queued behind it and unaffected by its failure.
  const others = [1, 2].map(() => upload(app.url, '/predict', form(['file', { bytes: black }])))
  t.ok(await until(async () => (await metric(app, 'image_analysis_queue_length')) === 2))
  const [pid = 0] = await children()
  process.kill(pid, 'SIGKILL')
  const lost = await answered
  t.equal(lost.status, 503)
  t.strictSame(lost.body, { detail: 'No analysis: the analyser ended during the analysis.' })
  t.ok(lost.headers.get('retry-after'))
  for (const other of await Promise.all(others))
    t.match(other, { status: 200, body: { classification: 'water_hyacinth' } })
  const [next] = await children()
  t.ok(next !== undefined && next !== pid, 'a new process')
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
})

t.test('an analysis that does not end is killed at its timeout', async (t) => {
  const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
    names: `['water hyacinth', 'other']`,
  })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier, IMAGE_TIMEOUT: '2' })
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  const answer = await predict(app.url)
  t.equal(answer.status, 504)
  t.strictSame(answer.body, { detail: 'Inference timed out.' })
  t.equal(await metric(app, 'image_analysis_kills_total'), 1)
  const isLogged = () => app.logged().some(({ msg }) => String(msg).includes('ended: an image took longer than 2 s'))
  t.ok(await until(isLogged), 'the log gives the reason')
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200, 'a new process is ready')
  const batch = await upload(app.url, '/predict/batch', form(['files', { bytes: image }]))
  t.equal(batch.status, 504, 'a batch in which every image takes too long')
  t.match((await app.call('GET', '/health')).body, { status: 'ok' }, 'the server keeps running')
})

t.test('images beyond the queue limit are refused at once', async (t) => {
  const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
    names: `['water hyacinth', 'other']`,
  })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier, IMAGE_QUEUE_LIMIT: '2', IMAGE_TIMEOUT: '4' })
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  const first = predict(app.url)
  t.ok(await until(async () => (await metric(app, 'image_analysis_queue_seconds_count')) === 1))
  const waiting = [predict(app.url), predict(app.url)]
  t.ok(await until(async () => (await metric(app, 'image_analysis_queue_length')) === 2))
  const refused = await predict(app.url)
  t.equal(refused.status, 503)
  t.strictSame(refused.body, { detail: 'Too many images are waiting: try again later.' })
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  t.equal((await first).status, 504)
  // Images may be queued for half of the timeout; after that, clients get 503 and may retry.
  for (const { status } of await Promise.all(waiting)) t.equal(status, 503)
})

t.test('a hundred concurrent uploads are answered', async (t) => {
  const large = await noise(900, 700).jpeg({ quality: 90 }).toBuffer()
  t.ok(large.length > 300_000, `${large.length} bytes`)
  const crowd = async (app: Application) => {
    t.equal((await predict(app.url)).status, 200)
    const sent = Array.from({ length: 100 }, () => upload(app.url, '/predict', form(['file', { bytes: large }])))
    const answers = await Promise.all(sent)
    t.equal((await predict(app.url)).status, 200, 'the server keeps running')
    return answers
  }
  // With a small memory budget, uploads wait at their clients until others are finished.
  const modest = await crowd(await start(t, { IMAGE_BODY_BUDGET: '2mb', IMAGE_TIMEOUT: '600' }))
  t.strictSame(new Set(modest.map(({ status }) => status)), new Set([200]))
  // With a large budget, all uploads arrive, and those that do not fit into the queue are refused.
  const answers = await crowd(await start(t, { IMAGE_QUEUE_LIMIT: '4' }))
  const done = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status, headers }) => status === 503 && headers.get('retry-after') !== null)
  t.equal(done.length + refused.length, 100)
  t.ok(done.length >= 5, `${done.length} answered: the one being analysed, and the queued ones`)
  t.ok(refused.length > 0, `${refused.length} refused`)
})

t.test('disconnected clients release their memory', async (t) => {
  const app = await start(t, { IMAGE_BODY_BUDGET: '1mb' })
  t.equal((await predict(app.url)).status, 200)
  const { port } = new URL(app.url)
  const begun = await metric(app, 'image_analysis_queue_seconds_count')
  // Each client disconnects in the middle of its upload; together they would exceed the budget.
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', () => undefined)
      const head = `POST ${prefix}/predict HTTP/1.1\r\nHost: x\r\nContent-Type: ${index % 2 === 0 ? 'image/jpeg' : 'multipart/form-data; boundary=x'}\r\nContent-Length: 500000\r\n\r\n`
      const part =
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
      socket.write(head + (index % 2 === 0 ? '' : part))
      socket.write(Buffer.alloc(100_000))
      await new Promise((resolve) => setTimeout(resolve, 20))
      if (index % 3 === 0) socket.resetAndDestroy()
      else socket.destroy()
      await new Promise((resolve) => socket.once('close', resolve))
    }),
  )
  const big = form(['file', { bytes: Buffer.concat([image, Buffer.alloc(900_000)]) }])
  t.equal((await upload(app.url, '/predict', big)).status, 200, 'all memory is released')
  t.equal(await metric(app, 'image_analysis_queue_seconds_count'), begun + 1, 'none of the uploads was analysed')
})

t.test('an image whose client has disconnected is not analysed', async (t) => {
  const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
    names: `['water hyacinth', 'other']`,
  })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier, IMAGE_TIMEOUT: '300' })
  t.equal((await app.call('GET', `${prefix}/ready`)).status, 200)
  const blocking = predict(app.url).catch(() => undefined)
  t.ok(await until(async () => (await metric(app, 'image_analysis_queue_seconds_count')) === 1))
  const controller = new AbortController()
  const waiting = fetch(`${app.url}${prefix}/predict`, {
    method: 'POST',
    body: one(),
    signal: controller.signal,
  }).catch(() => 'gone')
  t.ok(await until(async () => (await metric(app, 'image_analysis_queue_length')) === 1))
  controller.abort()
  t.equal(await waiting, 'gone')
  t.ok(
    await until(async () => (await metric(app, 'image_analysis_queue_length')) === 0),
    'it was removed from the queue',
  )
  // The server's end also ends the other connection.
  void blocking
})

t.test('hostile files do not break the process', async (t) => {
  const children = await watchChildren()
  const app = await start(t, { IMAGE_RATE_LIMIT: '1000000' })
  t.equal((await predict(app.url)).status, 200)
  const [pid] = await children()
  const files = await hostileFiles()
  t.ok(files.length >= 500, `${files.length} files`)
  const statuses = new Map<number, number>()
  for (const { name, bytes } of files) {
    const answer = await upload(app.url, '/predict', form(['file', { bytes, type: 'image/jpeg', name: 'x.jpg' }]))
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (![200, 400, 413].includes(answer.status)) t.fail(`${name}: ${answer.status} ${answer.text}`)
    if (answer.status !== 200) t.match(answer.body, { detail: String }, name)
  }
  t.ok((statuses.get(400) ?? 0) > 200, JSON.stringify([...statuses]))
  t.strictSame(await children(), [pid], 'the process is still the same')
  t.equal(await metric(app, 'image_analysis_kills_total'), 0)
  t.equal((await predict(app.url)).status, 200)
})

t.test('a process that fails to start is not restarted in a loop', async (t) => {
  const { NODE_OPTIONS } = process.env
  process.env.NODE_OPTIONS = `${NODE_OPTIONS ?? ''} --no-such-option`
  t.teardown(() => {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = NODE_OPTIONS
  })
  const app = await start(t)
  for (let n = 0; n < 5; n++) {
    const answer = await predict(app.url)
    t.equal(answer.status, 503)
    t.ok(answer.headers.get('retry-after'))
  }
  const starts = app.logged().filter(({ msg }) => String(msg).includes('The analyser ended'))
  t.ok(starts.length < 5, `${starts.length} starts`)
  t.match(await app.call('GET', `${prefix}/ready`), { status: 503, body: { detail: /The analyser does not run/ } })
})

t.test('the process ends when its server is killed, even in the middle of an analysis', async (t) => {
  const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
    names: `['water hyacinth', 'other']`,
  })
  const program = startProgram(t, {
    ...patient,
    DATABASE_URL: database.authenticatorUri,
    IMAGE_CLASSIFIER: classifier,
    SERVER_WORKERS: '1',
  })
  await program.line(({ event }) => event === 'listening')
  t.equal((await program.call('GET', `${prefix}/ready`)).status, 200)
  const [pid = 0] = await childProcesses(program.pid, 'analyser/main.')
  const lost = predict(program.url()).catch(() => 'lost')
  const cpuSeconds = async () => cpuSecondsOf(await readFile(`/proc/${pid}/stat`, 'utf8'))
  const before = await cpuSeconds()
  t.ok(await until(async () => (await cpuSeconds()) > before + 0.5), 'the analysis is running')
  program.kill('SIGKILL')
  t.equal(await lost, 'lost')
  t.ok(await until(() => !existsSync(`/proc/${pid}`)), 'the process has ended, too')
})

t.test('metrics count images', async (t) => {
  const classifier = await writeOnnx(join(folder, 'colour.onnx'), colourClassifier(32), {
    names: `['red', 'water hyacinth', 'blue']`,
  })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier })
  t.equal((await predict(app.url)).status, 200)
  for (const stage of ['queue', 'decode', 'inference'])
    t.equal(await metric(app, `image_analysis_${stage}_seconds_count`), 1, stage)
  t.equal(await metric(app, 'image_analysis_kills_total'), 0)
})
