// Every route of the image analysis: requests, and the complete response to each.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createValidator } from '../../server/validation/validator.ts'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { childProcesses } from '../support/child-processes.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { form, patient, prefix, upload } from '../support/image-upload.ts'
import { colourClassifier, greenDetector } from '../support/models.ts'
import { writeOnnx } from '../support/onnx.ts'
import { greenLake, lake, picture, plants, water } from '../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-routes-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const start = (t: Pick<Test, 'teardown'>, env: Readonly<Record<string, string>>) =>
  startApplication(t, database.authenticatorUri, { ...patient, ...env })

const { url, call } = await start(t, { IMAGE_FILE_LIMIT: '100kb', IMAGE_BODY_LIMIT: '300kb', IMAGE_PIXEL_LIMIT: '1' })
const send = (path: string, body: FormData | Uint8Array | string, headers?: Readonly<Record<string, string>>) =>
  upload(url, path, body, headers)

const validator = await createValidator()
/** Checks a body against its schema. */
function fits(t: Test, body: unknown, schema: string): void {
  t.strictSame(validator.forDto(`urn:rowhouse:${schema}`)(body), [], schema)
}
function refused(t: Test, { status, body }: Answer, expected: number, detail: unknown, name: string): void {
  t.equal(status, expected, name)
  t.match(body, { detail }, name)
  t.strictSame(Object.keys(body as object), ['detail'], name)
  if (expected === 422) fits(t, body, 'HTTPValidationError')
  t.notMatch(JSON.stringify(body), 'classification', 'the body of an error has no result')
}

const water_ = await lake()
const green = await greenLake()
const image = (bytes: Uint8Array, type = 'image/jpeg', name = 'a.jpg') => ({ bytes, type, name })

t.test('GET on the base path lists the routes', async (t) => {
  const paths = {
    health: `${prefix}/health`,
    predict: `${prefix}/predict`,
    predict_batch: `${prefix}/predict/batch`,
    live_detect_websocket: `${prefix}/ws/live-detect`,
    openapi: `${prefix}/openapi.json`,
  }
  t.strictSame((await call('GET', prefix)).body, { base_url_path: prefix, ...paths })
  const root = await call('GET', '/')
  t.match(root.body, {
    message: String,
    api_prefix: prefix,
    docs_url: `${prefix}/docs`,
    openapi_url: `${prefix}/openapi.json`,
  })
  t.strictSame((await call('GET', `${prefix}/v1/health`)).body, { status: 'healthy' })
  t.match(await call('GET', `${prefix}/docs/`), { status: 200, text: /<!doctype html>/ })
  const document = await call('GET', `${prefix}/openapi.json`)
  t.match(document.body, { openapi: '3.1.1', paths: { [`${prefix}/predict`]: { post: { operationId: 'predict' } } } })
  t.strictSame(document.body, (await call('GET', '/openapi.json')).body)
  for (const path of ['/docs', '/docs/', '/openapi.json', '/predict/batch']) {
    for (const method of path.startsWith('/predict') ? ['GET', 'PUT'] : ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await call(method, prefix + path)
      t.match(answer, { status: 405, body: { detail: 'Method Not Allowed' } }, `${method} ${path}`)
      t.ok(answer.headers.get('allow'), 'says which are')
    }
  }
})

t.test('health and readiness without a model', async (t) => {
  const { status, body } = await call('GET', `${prefix}/health`)
  t.equal(status, 200)
  t.strictSame(body, {
    ...{ status: 'ok', device: 'cpu', classifier_loaded: false, detector_loaded: false },
    ...{ classifier_weights: null, detector_weights: null, api_prefix: prefix },
  })
  fits(t, body, 'HealthResponse')
  t.match(await call('GET', `${prefix}/ready`), { status: 200, body: { status: 'ready' } })
})

t.test('an image can be sent in every documented way', async (t) => {
  const expected = {
    classification: 'needs_review',
    classification_confidence: 0.5,
    detected_regions: 1,
    coverage_percent: 6.3,
    risk_level: 'LOW',
    image_width: 320,
    image_height: 240,
    boxes: [{ x1: 120, y1: 90, x2: 200, y2: 150, width: 80, height: 60 }],
    model_version: 'colour-index-baseline/1 (green cover, not species)',
    method: 'colour-index',
    result_label: 'Needs Review',
  }
  const base64 = green.toString('base64')
  const ways: readonly (readonly [string, FormData | Uint8Array | string, string?])[] = [
    ['file', form(['file', image(green)])],
    ['image', form(['image', image(green)])],
    ['with other fields', form(['title', 'x'], ['file', image(green)], ['other', image(water_)])],
    ['image/jpg', form(['file', image(green, 'image/jpg')])],
    ['a wrong type that is an image, too', form(['file', image(green, 'image/png')])],
    ['application/octet-stream', form(['file', image(green, 'application/octet-stream')])],
    ['no type', form(['file', image(green, '')])],
    ['raw', green, 'image/jpeg'],
    ['raw, any image', green, 'image/*'],
    ['raw bytes', green, 'application/octet-stream'],
    ['JSON', JSON.stringify({ image_base64: base64 }), 'application/json'],
    ['JSON with a data URL', JSON.stringify({ image_base64: `data:image/jpeg;base64,${base64}` }), 'application/json'],
  ]
  for (const [name, body, type] of ways) {
    const answer = await send('/predict', body, type === undefined ? {} : { 'Content-Type': type })
    t.equal(answer.status, 200, name)
    t.match(answer.body, expected, name)
    fits(t, answer.body, 'PredictionResponse')
    t.equal(answer.headers.get('cache-control'), 'no-store')
  }
  for (const format of ['png', 'webp'] as const) {
    const bytes = await picture(320, 240, water, [plants, 120, 90, 80, 60])[format]({ lossless: true }).toBuffer()
    t.match((await send('/predict', form(['file', image(bytes, `image/${format}`)]))).body, expected, format)
  }
  t.match((await send('/predict', form(['file', image(water_)]))).body, {
    ...{ classification: 'non_water_hyacinth', detected_regions: 0, boxes: [], risk_level: 'NONE' },
    ...{ coverage_percent: 0, detection_confidence: 0, result_label: 'No Water Hyacinth' },
  })
})

t.test('the legacy route responds in the legacy format', async (t) => {
  const answer = await send('/v1/predict', form(['file', image(water_)]))
  t.equal(answer.status, 200)
  fits(t, answer.body, 'PredictionSchema')
  t.match(answer.body, { prediction: 'not_water_hyacinth', threshold: 0.5 })
  refused(
    t,
    await send('/v1/predict', form(['file', image(green)])),
    503,
    /needs a review.*\/predict/,
    'the legacy format has no needs_review',
  )
  refused(t, await send('/v1/predict', form(['x', 'y'])), 422, [{ loc: ['body', 'file'] }], 'no file')
})

t.test('invalid images: request -> response', async (t) => {
  const missing = [{ type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null }]
  const noJson = (message: RegExp) => [{ type: 'json_invalid', loc: ['body'], msg: message }]
  const boundary = 'multipart/form-data; boundary=x'
  const json = 'application/json'
  const tooLarge = 'Uploaded file exceeds the 102400 byte limit.'
  const undecodable = 'Inference failed: Could not decode image'
  const large = Buffer.concat([green, Buffer.alloc(102_401 - green.length)])
  const rows: readonly (readonly [string, FormData | Uint8Array | string, string | undefined, number, unknown])[] = [
    ['no body', '', 'text/plain', 422, missing],
    ['another type', 'hello', 'text/plain', 422, missing],
    ['bytes that are not an image', Buffer.from('hello'), 'application/octet-stream', 422, missing],
    ['a form of another kind', 'file=x', 'application/x-www-form-urlencoded', 422, missing],
    ['another field', form(['picture', image(green)]), undefined, 422, missing],
    ['text in the field', form(['file', 'hello']), undefined, 422, [{ loc: ['body', 'file'], msg: 'Expected a file' }]],
    ['two files', form(['file', image(green)], ['file', image(green)]), undefined, 422, [{ msg: /Only one file/ }]],
    ['JSON without an image', '{}', json, 422, [{ type: 'missing', loc: ['body', 'image_base64'] }]],
    ['JSON with null', '{"image_base64": null}', json, 422, [{ type: 'missing' }]],
    ['JSON that is none', '{', json, 422, noJson(/is not valid JSON/)],
    ['JSON that is a list', '[]', json, 422, noJson(/is not an object/)],
    ['JSON that is deep', '['.repeat(50_000), json, 422, noJson(/has too many values/)],
    ['JSON with the field twice', '{"image_base64":"a","image_base64":"b"}', json, 422, noJson(/twice/)],
    ['JSON that is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), json, 422, noJson(/UTF-8/)],
    ['base64 that is none', '{"image_base64": "!!!!"}', json, 400, 'Invalid base64 image payload.'],
    ['a URL', '{"image_base64": "http://127.0.0.1/x.jpg"}', json, 400, 'Invalid base64 image payload.'],
    ['no boundary', 'x', 'multipart/form-data', 400, 'There was an error parsing the body'],
    ['no part', 'hello', boundary, 400, 'There was an error parsing the body'],
    [
      'an incomplete part',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      boundary,
      400,
      'There was an error parsing the body',
    ],
    [
      'a PDF',
      form(['file', image(Buffer.from('%PDF-1.7'), 'application/pdf')]),
      undefined,
      415,
      /not "application\/pdf"/,
    ],
    ['a GIF', form(['file', image(green, 'image/gif')]), undefined, 415, /not "image\/gif"/],
    ['a GIF, raw', green, 'image/gif', 415, /not "image\/gif"/],
    [
      'a GIF in JSON',
      JSON.stringify({ image_base64: `data:image/gif;base64,${green.toString('base64')}` }),
      json,
      415,
      /image\/gif/,
    ],
    [
      'unknown bytes',
      form(['file', image(Buffer.from('hello'), 'application/octet-stream')]),
      undefined,
      415,
      /Only JPEG, PNG and WebP/,
    ],
    ['type before size', form(['file', image(large, 'image/gif')]), undefined, 415, /image\/gif/],
    ['too large', form(['file', image(large)]), undefined, 413, tooLarge],
    ['too large, raw', large, 'image/jpeg', 413, tooLarge],
    ['too large, JSON', JSON.stringify({ image_base64: large.toString('base64') }), json, 413, tooLarge],
    [
      'a body that is too large',
      form(['file', image(Buffer.alloc(400_000))]),
      undefined,
      413,
      'The request body exceeds the 307200 byte limit.',
    ],
    [
      'too many parts',
      form(...Array.from({ length: 200 }, (_, n) => [`f${n}`, 'x'] as const)),
      undefined,
      413,
      /too many parts/,
    ],
    ['not an image', form(['file', image(Buffer.from('hello'))]), undefined, 400, undecodable],
    ['no bytes', form(['file', image(Buffer.alloc(0))]), undefined, 400, undecodable],
    ['no bytes, raw', Buffer.alloc(0), 'image/jpeg', 400, undecodable],
    ['truncated', form(['file', image(green.subarray(0, 900))]), undefined, 400, undecodable],
    [
      'too many pixels',
      form(['file', image(await picture(1001, 1000, water).png().toBuffer())]),
      undefined,
      413,
      'The image has 1001 x 1000 pixels; the limit is 1 megapixels.',
    ],
    [
      'store is not a boolean',
      form(['file', image(green)], ['store', 'maybe']),
      undefined,
      422,
      [{ loc: ['body', 'store'], type: 'bool_parsing' }],
    ],
    [
      'keep_image',
      form(['file', image(green)], ['keep_image', 'true']),
      undefined,
      422,
      [{ loc: ['body', 'keep_image'] }],
    ],
    [
      'store without a credential',
      form(['file', image(green)], ['store', 'true']),
      undefined,
      401,
      /Storing a run needs/,
    ],
  ]
  for (const [name, body, type, status, detail] of rows) {
    refused(t, await send('/predict', body, type === undefined ? {} : { 'Content-Type': type }), status, detail, name)
  }
  const exact = Buffer.concat([green, Buffer.alloc(102_400 - green.length)])
  t.equal((await send('/predict', form(['file', image(exact)]))).status, 200, 'exactly at the limit')
  const zipped = await send('/predict', green, { 'Content-Type': 'image/jpeg', 'Content-Encoding': 'gzip' })
  refused(t, zipped, 415, /content encoding/, 'compressed bodies are not unpacked')
  for (const name of ['?store=maybe', '?keep_image=1']) {
    const answer = await send(`/predict${name}`, form(['file', image(green)]))
    refused(t, answer, 422, [{ loc: ['query', name.slice(1, name.indexOf('='))] }], name)
  }
})

t.test('several images are analysed in one request', async (t) => {
  const bad = image(Buffer.from('hello'), 'image/jpeg', 'bad.jpg')
  const good = [image(green, 'image/jpeg', 'green.jpg'), image(water_, 'image/jpeg', 'water.jpg')] as const
  const all = await send('/predict/batch', form(['files', good[0]], ['files', good[1]]))
  t.equal(all.status, 200)
  t.equal(all.headers.get('x-batch-failed'), '0')
  t.match(all.body, [
    { image: 'green.jpg', index: 0, classification: 'needs_review' },
    { image: 'water.jpg', index: 1, classification: 'non_water_hyacinth' },
  ])
  for (const item of all.body as unknown[]) fits(t, item, 'BatchPredictionItem')

  const some = form(
    ['files', bad],
    ['files', good[0]],
    ['files', image(green, 'application/pdf', 'x.pdf')],
    ['files', good[1]],
  )
  const without = await send('/predict/batch', some)
  t.equal(without.headers.get('x-batch-failed'), '2')
  t.match(without.body, [
    { image: 'green.jpg', index: 1 },
    { image: 'water.jpg', index: 3 },
  ])
  t.equal((without.body as unknown[]).length, 2)
  const including = await send('/predict/batch?errors=include', some)
  t.equal(including.headers.get('x-batch-failed'), '2')
  const [first, , third] = including.body as Readonly<Record<string, unknown>>[]
  t.strictSame(first, { image: 'bad.jpg', index: 0, error: 'Inference failed: Could not decode image' })
  t.match(third, { image: 'x.pdf', index: 2, error: /application\/pdf/ })
  t.equal((including.body as unknown[]).length, 4)

  const large = image(Buffer.concat([green, Buffer.alloc(102_401)]), 'image/jpeg', 'large.jpg')
  t.match((await send('/predict/batch?errors=include', form(['files', large], ['files', good[0]]))).body, [
    { image: 'large.jpg', error: 'Uploaded file exceeds the 102400 byte limit.' },
    { image: 'green.jpg' },
  ])
  const missing = [{ type: 'missing', loc: ['body', 'files'], msg: 'Field required', input: null }]
  refused(t, await send('/predict/batch', form(['file', good[0]])), 422, missing, 'the field of one image')
  refused(t, await send('/predict/batch', green, { 'Content-Type': 'image/jpeg' }), 422, missing, 'an image alone')
  refused(
    t,
    await send('/predict/batch', form(['files', bad], ['files', bad])),
    400,
    /None of the files.*"bad.jpg"/,
    'no valid image',
  )
  const seventeen = (n: number) => form(...Array.from({ length: n }, () => ['files', good[1]] as const))
  refused(t, await send('/predict/batch', seventeen(17)), 413, 'Batch requests are limited to 16 files.', 'too many')
  t.equal(((await send('/predict/batch', seventeen(16))).body as unknown[]).length, 16)
})

t.test('file names are returned unchanged, without folders', async (t) => {
  const names = [
    ['größe 日本.jpg', 'größe 日本.jpg'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\x\\y.jpg', 'y.jpg'],
    ['<script>.jpg', '<script>.jpg'],
  ] as const
  const body = form(...names.map(([name]) => ['files', image(water_, 'image/jpeg', name)] as const))
  const answer = await send('/predict/batch', body)
  t.strictSame(
    (answer.body as { image: string }[]).map((item) => item.image),
    names.map(([, name]) => name),
  )
  t.match(answer.headers.get('content-type'), /^application\/json/)
})

t.test('unknown paths, unsupported methods, and request ids', async (t) => {
  const rows = [
    ['GET', '/predict', 405, 'POST'],
    ['PUT', '/predict', 405, 'POST'],
    ['DELETE', '/predict/batch', 405, 'POST'],
    ['POST', '', 405, 'GET, HEAD'],
    ['POST', '/health', 405, 'GET, HEAD'],
    ['PATCH', '/ready', 405, 'GET, HEAD'],
    ['GET', '/v1/predict', 405, 'POST'],
    ['POST', '/v1/health', 405, 'GET, HEAD'],
    ['POST', '/ws/live-detect', 405, 'GET, HEAD'],
    ['GET', '/nowhere', 404, null],
    ['GET', '/predict/nothing', 404, null],
    ['GET', '/ws/live-detect', 426, null],
  ] as const
  for (const [method, path, status, allow] of rows) {
    const answer = await call(method, `${prefix}${path}`, { headers: { 'X-Request-ID': 'mine-1' } })
    t.equal(answer.status, status, `${method} ${path}`)
    t.equal(answer.headers.get('allow'), allow, `${method} ${path}`)
    t.equal(answer.headers.get('x-request-id'), 'mine-1', `${method} ${path}`)
    t.match(answer.body, { detail: String }, `${method} ${path}`)
  }
  t.strictSame((await call('GET', `${prefix}/x`)).body, { detail: 'Not Found' })
  t.strictSame((await call('GET', `${prefix}/predict`)).body, { detail: 'Method Not Allowed' })
  t.match((await call('GET', `${prefix}/health`)).headers.get('x-request-id'), /^[0-9a-f]{32}$/)
  for (const path of ['/docs/', '/openapi.json']) {
    const { headers } = await call('GET', `${prefix}${path}`, { headers: { 'X-Request-ID': 'mine-2' } })
    t.equal(headers.get('x-request-id'), 'mine-2', path)
  }
  const odd = await call('GET', `${prefix}/x`, { headers: { 'X-Request-ID': 'a b<>' } })
  t.match(odd.headers.get('x-request-id'), /^[0-9a-f]{32}$/, 'a request id with special characters is not returned')
  t.match(await call('HEAD', `${prefix}/health`), { status: 200, text: '' })
})

t.test('pages of other origins', async (t) => {
  const origin = { Origin: 'https://app.example' }
  const answer = await send('/predict', form(['file', image(water_)]), origin)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('access-control-allow-origin'), '*')
  t.match(answer.headers.get('access-control-expose-headers'), /X-Batch-Failed/)
  t.equal((await send('/predict', 'x', origin)).headers.get('access-control-allow-origin'), '*', 'errors, too')
  const preflight = await call('OPTIONS', `${prefix}/predict`, {
    headers: { ...origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type' },
  })
  t.equal(preflight.status, 200)
  t.match(preflight.headers.get('access-control-allow-methods'), /POST/)
})

t.test('predictions with models', async (t) => {
  const classifier = await writeOnnx(join(folder, 'kind.onnx'), colourClassifier(32), {
    names: `['red', 'water hyacinth', 'blue']`,
  })
  const detector = await writeOnnx(join(folder, 'place.onnx'), greenDetector(64, 64), { stride: '8', version: '2' })
  const app = await start(t, { IMAGE_CLASSIFIER: classifier, IMAGE_DETECTOR: detector, IMAGE_REQUIRE_MODEL: 'true' })
  t.match(await app.call('GET', `${prefix}/ready`), { status: 200 })
  t.match((await app.call('GET', `${prefix}/health`)).body, {
    ...{
      classifier_loaded: true,
      detector_loaded: true,
      classifier_weights: 'kind.onnx',
      detector_weights: 'place.onnx',
    },
  })
  const bytes = await picture(640, 640, '#0000ff', ['#00ff00', 80, 80, 480, 480]).png().toBuffer()
  const answer = await upload(app.url, '/predict', form(['file', image(bytes, 'image/png')]))
  t.equal(answer.status, 200)
  fits(t, answer.body, 'PredictionResponse')
  t.match(answer.body, {
    ...{ classification: 'water_hyacinth', result_label: 'Water Hyacinth', method: 'onnx', detected_regions: 36 },
    ...{ coverage_percent: 56.3, risk_level: 'HIGH', image_width: 640, image_height: 640 },
    model_version: /^kind@[0-9a-f]{12} \+ place\/2$/,
  })
  const older = await upload(app.url, '/v1/predict', form(['file', image(bytes, 'image/png')]))
  t.match(older.body, { prediction: 'water_hyacinth', threshold: 0.5 })
  fits(t, older.body, 'PredictionSchema')
})

t.test('without a required model, images get 503', async (t) => {
  const none = await start(t, { IMAGE_REQUIRE_MODEL: 'true' })
  refused(t, await upload(none.url, '/predict', form(['file', image(water_)])), 503, /No model/, 'no model')
  refused(
    t,
    await upload(none.url, '/predict/batch', form(['files', image(water_)])),
    503,
    /No model/,
    'no model for a batch',
  )
  refused(
    t,
    await upload(none.url, '/predict', form(['x', 'y'])),
    422,
    [{ type: 'missing' }],
    'a missing field comes first',
  )
  t.match(await none.call('GET', `${prefix}/ready`), { status: 503, body: { status: 'not ready', detail: /No model/ } })
  t.match(await none.call('GET', '/ready'), { status: 200 }, 'the rest of the service is ready')

  const before = (await childProcesses(process.pid, 'analyser/main.')).length
  const broken = await start(t, { IMAGE_DETECTOR: join(folder, 'secret-folder', 'nowhere.onnx') })
  t.match(await broken.call('GET', `${prefix}/ready`), {
    status: 503,
    body: { status: 'not ready', detail: /The detector nowhere.onnx is not loaded: it cannot be read \(ENOENT\)/ },
  })
  // It is served under overload, too: a flood of it starts one process at most.
  const flood = await Promise.all(Array.from({ length: 300 }, () => broken.call('GET', `${prefix}/ready`)))
  t.ok(flood.every(({ status }) => status === 503))
  t.ok((await childProcesses(process.pid, 'analyser/main.')).length <= before + 1, 'one process')
  const answer = await upload(broken.url, '/predict', form(['file', image(water_)]))
  refused(t, answer, 503, /nowhere.onnx is not loaded/, 'never the baseline in the place of a model')
  t.notMatch(answer.text, 'secret-folder')
  t.match((await broken.call('GET', `${prefix}/health`)).body, {
    detector_loaded: false,
    detector_weights: 'nowhere.onnx',
  })
  t.ok(
    broken.logged().some(({ msg }) => /detector nowhere.onnx was not loaded/.test(String(msg))),
    'the log gives the reason',
  )
})

t.test('the analysis can be served at the root', async (t) => {
  const app = await start(t, { IMAGE_BASE_PATH: '/', SESSION_SECRETS: 's'.repeat(32) })
  t.match((await app.call('GET', '/')).body, {
    api_prefix: '/',
    base_url_path: '/',
    predict: '/predict',
    health: '/health',
    openapi: '/openapi.json',
  })
  t.match((await app.call('GET', '/health')).body, { status: 'ok', classifier_loaded: false, api_prefix: '/' })
  t.match((await app.call('GET', '/v1/health')).body, { status: 'healthy' })
  t.match(await app.call('GET', '/ready'), { status: 200, body: { checks: { imageAnalysis: true, database: true } } })
  t.match((await app.call('GET', '/openapi.json')).body, { paths: { '/predict': { post: {} } } })
  t.match(await app.call('GET', '/nowhere'), { status: 404, body: { message: 'Cannot GET /nowhere' } })
  t.match(await app.call('GET', '/report'), { status: 401 }, 'other routes are unchanged')
  t.match(await app.call('GET', '/rest/v1/'), { status: 200 })
  t.match(await app.call('POST', '/predict', { body: await lake(), headers: { 'Content-Type': 'image/jpeg' } }), {
    status: 200,
  })
  const broken = await start(t, {
    IMAGE_BASE_PATH: '/',
    IMAGE_DETECTOR: '/secret-folder/nowhere.onnx',
    SESSION_SECRETS: 's'.repeat(32),
  })
  t.match(await broken.call('GET', '/ready'), {
    status: 503,
    body: {
      status: 'not ready',
      checks: { imageAnalysis: false, database: true },
      reasons: { imageAnalysis: 'The detector nowhere.onnx is not loaded: it cannot be read (ENOENT).' },
    },
  })
  const children = (await childProcesses(process.pid, 'analyser/main.')).length
  const flood = await Promise.all(Array.from({ length: 300 }, () => broken.call('GET', '/ready')))
  t.ok(flood.every(({ status, text }) => status === 503 && !text.includes('secret-folder')))
  t.ok(
    (await childProcesses(process.pid, 'analyser/main.')).length <= children + 1,
    'a flood starts one process at most',
  )
  const baseline = await start(t, {
    IMAGE_BASE_PATH: '/',
    IMAGE_REQUIRE_MODEL: 'true',
    SESSION_SECRETS: 's'.repeat(32),
  })
  t.match(await baseline.call('GET', '/ready'), { status: 503, body: { checks: { imageAnalysis: false } } })
})

t.test("the analysis works beside PostgREST's paths at the root", async (t) => {
  await database.query('create table public.api (id int); grant select on public.api to anon')
  const app = await start(t, { REST_BASE_PATH: '/' })
  t.match(await app.call('GET', '/api'), { status: 200, body: [] }, 'a table with that name')
  t.match((await app.call('GET', prefix)).body, { base_url_path: prefix })
  const below = await start(t, { REST_BASE_PATH: '/api' })
  t.match(await below.call('GET', '/api/api'), { status: 200, body: [] })
  t.match((await below.call('GET', prefix)).body, { base_url_path: prefix })
})
