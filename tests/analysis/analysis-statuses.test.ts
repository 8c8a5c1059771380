// Every route of the image analysis is called: each status that it documents can be provoked, and it answers no other.
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { makeApiKey } from '../../server/identity/api-key/api-key.ts'
import { analysisRoutes } from '../../server/services/analysis/analysis-routes.ts'
import { startApplication, type Application } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { walkRoute, type Provocation } from '../support/documented-answers.ts'
import { createGate } from '../support/gate.ts'
import { form, patient, prefix, upload } from '../support/image-upload.ts'
import { endlessClassifier } from '../support/models.ts'
import { writeOnnx } from '../support/onnx.ts'
import { bearer } from '../support/token.ts'
import { lake } from '../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-statuses-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const uri = database.authenticatorUri
const start = (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>> = {}, address = uri) =>
  startApplication(t, address, { ...patient, SESSION_SECRETS: 's'.repeat(32), ...env })
const classifier = await writeOnnx(join(folder, 'endless.onnx'), endlessClassifier(32), {
  names: `['water hyacinth', 'other']`,
})
const gate = await createGate(t, database.port)
const plain = await start(t, { IMAGE_FILE_LIMIT: '50kb', IMAGE_BODY_LIMIT: '200kb' })
// The limits of all applications are those of the database, so this one's requests come from elsewhere.
const limited = await start(t, { IMAGE_RATE_LIMIT: '1', TRUSTED_PROXIES: '1' })
const elsewhere = { 'X-Forwarded-For': '203.0.113.9' }
const withoutModel = await start(t, { IMAGE_REQUIRE_MODEL: 'true' })
const slow = await start(t, { IMAGE_CLASSIFIER: classifier, IMAGE_TIMEOUT: '2' })
const listed = await start(t, { PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://app.example' })
const unreachable = await start(t, {}, uri.replace(`:${database.port}/`, `:${gate.port}/`))
const withoutSecret = await start(t, { PGRST_JWT_SECRET: '' })

const image = await lake()
const nobody = await bearer('service_role')
const get = (path: string, app: Application = plain) => app.call('GET', `${prefix}${path}`)

/** What the routes that take images answer, whose images are in this field. */
function uploads(path: string, field: 'file' | 'files'): readonly Provocation[] {
  const send = (app: Application, bytes: Uint8Array = image, headers: Readonly<Record<string, string>> = {}) =>
    upload(app.url, path, form([field, { bytes }]), headers)
  return [
    [200, () => send(plain)],
    [400, () => send(plain, Buffer.from('hello'))],
    [401, () => send(plain, image, { Authorization: 'Bearer x' })],
    [401, () => send(plain, image, { Authorization: 'Basic x' })],
    [403, () => upload(plain.url, `${path}?store=true`, form([field, { bytes: image }]), { Authorization: nobody })],
    [413, () => send(plain, Buffer.alloc(300_000))],
    [415, () => send(plain, image, { 'Content-Encoding': 'gzip' })],
    [422, () => upload(plain.url, path, form(['other', { bytes: image }]))],
    [
      429,
      async () => {
        // The first one is allowed, unless another route has sent it.
        await send(limited, image, elsewhere)
        return send(limited, image, elsewhere)
      },
    ],
    [500, () => send(withoutSecret, image, { Authorization: nobody })],
    [503, () => send(withoutModel)],
    [
      504,
      async () => {
        // It is being replaced after the last timeout, for which requests do not wait long.
        while ((await slow.call('GET', `${prefix}/ready`)).status !== 200) await pause(50)
        return send(slow)
      },
    ],
  ]
}

/** Asks for the WebSocket. */
const handshake = ({ url }: Application, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(`${url}${prefix}/ws/live-detect`, {
      headers: {
        ...{ Connection: 'Upgrade', Upgrade: 'websocket' },
        ...{ 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' },
        ...headers,
      },
    })
    const none = { headers: new Headers(), text: '', body: undefined, cookie: undefined }
    sent.on('error', reject)
    sent.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy()
      resolve({ ...none, status: statusCode })
    })
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('error', reject).on('end', () =>
        resolve({
          ...none,
          status: response.statusCode ?? 0,
          headers: new Headers({ 'Content-Type': response.headers['content-type'] ?? '' }),
          text,
          body: JSON.parse(text) as unknown,
        }),
      )
    })
    sent.end()
  })

/** By the id of the route. */
const requests: Readonly<Record<string, readonly Provocation[]>> = {
  describeImageAnalysis: [[200, () => get('')]],
  imageAnalysisReadiness: [
    [200, () => get('/ready')],
    [503, () => get('/ready', withoutModel)],
  ],
  imageAnalysisHealth: [[200, () => get('/health')]],
  predict: uploads('/predict', 'file'),
  predictBatch: uploads('/predict/batch', 'files'),
  olderImageAnalysisHealth: [[200, () => get('/v1/health')]],
  olderPredict: uploads('/v1/predict', 'file'),
  liveDetect: [
    [101, () => handshake(plain)],
    [401, () => handshake(plain, { Authorization: 'Bearer x' })],
    [403, () => handshake(listed, { Origin: 'https://other.example' })],
    [426, () => get('/ws/live-detect')],
    [500, () => handshake(withoutSecret, { Authorization: nobody })],
    [503, () => handshake(unreachable, { apikey: makeApiKey('secret') })],
  ],
}

t.test('each route answers what it documents, and all of it', async (t) => {
  const routes = analysisRoutes(prefix)
  t.strictSame(Object.keys(requests).sort(), routes.map(({ id }) => id).sort(), 'there are requests for each')
  for (const route of routes) await walkRoute(t, route, requests[route.id] ?? [])
})
