// Models of every supported kind, generated with known boxes and classes, and models that must be rejected.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadAnalysis } from '../../../server/services/analysis/analyser/analyse.ts'
import { loadClassifier, softmax } from '../../../server/services/analysis/analyser/classifier.ts'
import { loadDetector } from '../../../server/services/analysis/analyser/detector.ts'
import { anchorCount } from '../../../server/services/analysis/analyser/detector-output.ts'
import { prepareDecoding } from '../../../server/services/analysis/analyser/image.ts'
import { classNames } from '../../../server/services/analysis/analyser/model-description.ts'
import { readMetadata } from '../../../server/services/analysis/analyser/onnx-file.ts'
import { modelVerdict } from '../../../server/services/analysis/analyser/verdict.ts'
import { colourClassifier, greenDetector, planted } from '../../support/models.ts'
import { writeOnnx, type Graph, type Metadata } from '../../support/onnx.ts'
import { greenLake, lake, picture, plants, water } from '../../support/test-image.ts'

prepareDecoding(1)
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-models-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

let count = 0
async function model(graph: Graph, metadata: Metadata = {}, sideCar?: unknown): Promise<string> {
  const path = await writeOnnx(join(folder, `model-${++count}.onnx`), graph, metadata)
  if (sideCar !== undefined) {
    const content = typeof sideCar === 'string' ? sideCar : JSON.stringify(sideCar)
    await writeFile(path.replace('.onnx', '.json'), content)
  }
  return path
}

/** The image has the size of the models' input, so boxes have the coordinates of the model. */
const square = { width: 64, height: 64, data: new Uint8Array(3 * 64 * 64).fill(90) }
const anchors = anchorCount(64, 64, 32)

/** A dense output: the centre and size of each box, then the scores of each class. */
function dense(classes: number, boxes: readonly (readonly number[])[]): Float32Array {
  const values = new Float32Array((4 + classes) * anchors)
  for (const [anchor, box] of boxes.entries()) {
    for (const [row, value] of box.entries()) values[row * anchors + anchor] = value
  }
  return values
}
const rows = (count: number, width: number, boxes: readonly (readonly number[])[]): Float32Array => {
  const values = new Float32Array(count * width)
  for (const [row, box] of boxes.entries()) values.set(box, row * width)
  return values
}
const rounded = (boxes: readonly object[]): unknown =>
  boxes.map((box) => Object.values(box).map((value) => Number(Number(value).toFixed(3))))

t.test('the shape of the output determines how boxes are read', async (t) => {
  const names = `{0: 'lily', 1: 'water hyacinth'}`
  t.equal(anchors, 84)
  const cases: readonly (readonly [string, Graph, Metadata])[] = [
    [
      'dense',
      planted(
        64,
        64,
        [1, 6, 84],
        dense(2, [
          [20, 20, 10, 20, 0, 0.9],
          [21, 20, 10, 20, 0, 0.8],
          [50, 50, 8, 8, 0.95, 0.1],
          [50, 10, 8, 8, 0, 0.4],
        ]),
      ),
      { names, task: 'detect', stride: '32', imgsz: '[64, 64]' },
    ],
    [
      'objectness',
      planted(
        64,
        64,
        [1, 252, 7],
        rows(252, 7, [
          [20, 20, 10, 20, 1, 0, 0.9],
          [21, 20, 10, 20, 1, 0, 0.8],
          [50, 50, 8, 8, 1, 0.95, 0.1],
          [50, 10, 8, 8, 0.5, 0, 0.8],
        ]),
      ),
      { names },
    ],
    [
      'end-to-end',
      planted(
        64,
        64,
        [1, 300, 6],
        rows(300, 6, [
          [15, 10, 25, 30, 0.9, 1],
          [46, 46, 54, 54, 0.95, 0],
          [46, 6, 54, 14, 0.4, 1],
        ]),
      ),
      { names },
    ],
  ]
  for (const [name, graph, metadata] of cases) {
    const detector = await loadDetector(await model(graph, metadata), 1)
    const { boxes, highest } = await detector.detect(square)
    t.strictSame(
      rounded(boxes),
      [
        [15, 10, 25, 30, 0.9],
        [46, 6, 54, 14, 0.4],
      ],
      `${name}: best first, without the other class and duplicates`,
    )
    t.equal(highest.toFixed(3), '0.900', name)
  }
})

t.test('boxes are mapped from the letterbox back to the original', async (t) => {
  const path = await model(greenDetector(64, 64), { names: `['water hyacinth']`, stride: '8' })
  const { analyse, models } = await loadAnalysis({ classifier: null, detector: path, pixelLimit: 1e8, threads: 1 })
  t.match(models, { classifier: { kind: 'not configured' }, detector: { kind: 'loaded', file: `model-${count}.onnx` } })
  // A wide image: scaled by 1/10 to 64 x 32, with 16 grey rows above and below. A cell of 8 pixels is 80 there.
  const wide = await picture(640, 320, water, [plants, 160, 80, 80, 80]).png().toBuffer()
  const found = await analyse(wide)
  t.match(found, { width: 640, height: 320, method: 'onnx' })
  t.strictSame(rounded(found.boxes.map(({ x1, y1, x2, y2 }) => ({ x1, y1, x2, y2 }))), [[160, 80, 240, 160]])
  // A tall image by EXIF orientation: it is stored rotated, and the boxes are those of the upright image.
  const lying = await picture(640, 320, water, [plants, 160, 80, 80, 80])
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  const upright = await analyse(lying)
  t.match(upright, { width: 320, height: 640 })
  t.strictSame(rounded(upright.boxes.map(({ x1, y1, x2, y2 }) => ({ x1, y1, x2, y2 }))), [[160, 160, 240, 240]])
  // An image smaller than the input is scaled up.
  const small = await analyse(await picture(32, 32, water, [plants, 8, 8, 8, 8]).png().toBuffer())
  t.ok(small.boxes.length > 0)
  t.ok(small.boxes.every(({ x2, y2 }) => x2 <= 32 && y2 <= 32))
  t.match(await analyse(await lake()), { boxes: [], classification: 'non_water_hyacinth' })
})

t.test('a classifier gets red, green and blue, normalised by its mean and deviation', async (t) => {
  const names = { names: `{0: 'red', 1: 'water-hyacinth', 2: 'blue'}`, task: 'classify' }
  const path = await model(colourClassifier(32), names)
  const { analyse } = await loadAnalysis({ classifier: path, detector: null, pixelLimit: 1e8, threads: 1 })
  const all = (colour: string) => picture(100, 60, colour).png().toBuffer()
  t.match(await analyse(await all('#00ff00')), { classification: 'water_hyacinth', threshold: 0.5, boxes: [] })
  t.match(await analyse(await all('#ff0000')), { classification: 'non_water_hyacinth' })
  t.match(await analyse(await all('#0000ff')), { classification: 'non_water_hyacinth' })
  const { confidence, probability } = await analyse(await all('#ff0000'))
  t.equal(confidence, 1 - (probability ?? NaN))
  // Equal proportions of green and blue: 0.5, which is the threshold.
  t.match(await analyse(await all('#00ffff')), { classification: 'needs_review' })

  // With a large deviation, green has little weight and the same image is blue.
  const shifted = await model(colourClassifier(32), names, {
    mean: [0, 0.5, 0],
    std: [1, 2, 1],
    threshold: 0.9,
    version: '7',
  })
  const other = await loadAnalysis({ classifier: shifted, detector: null, pixelLimit: 1e8, threads: 1 })
  const answer = await other.analyse(await all('#00ffff'))
  t.match(answer, { classification: 'non_water_hyacinth', threshold: 0.9, modelVersion: `model-${count}/7` })
  // The scores are 20 * (0, 0.25, 1).
  t.equal(answer.probability?.toFixed(5), (softmax([0, 5, 20])[1] ?? NaN).toFixed(5))
})

t.test('the centre of an image is classified, without distortion', async (t) => {
  const path = await model(colourClassifier(32), { names: `['red', 'water hyacinth', 'blue']` })
  const { analyse } = await loadAnalysis({ classifier: path, detector: null, pixelLimit: 1e8, threads: 1 })
  const image = picture(300, 100, '#ff0000', ['#00ff00', 100, 0, 100, 100])
  t.match(await analyse(await image.png().toBuffer()), { classification: 'water_hyacinth' })
})

t.test('classifier and detector together decide on the result', async (t) => {
  const classifier = await model(colourClassifier(32), { names: `['red', 'water hyacinth', 'blue']` })
  const detector = await model(greenDetector(64, 64), { stride: '8' }, { version: 'two' })
  const { analyse } = await loadAnalysis({ classifier, detector, pixelLimit: 1e8, threads: 1 })
  const answer = await analyse(await picture(640, 640, '#00ff00').png().toBuffer())
  t.equal(answer.classification, 'water_hyacinth')
  t.equal(answer.boxes.length, 64)
  t.match(answer.modelVersion, /^model-\d+@[0-9a-f]{12} \+ model-\d+\/two$/)
  t.ok(answer.modelVersion.length <= 100)
})

t.test('inputs of variable size are rounded to whole strides', async (t) => {
  // The convolution accepts any size; the anchors are for 64 x 32, and the output is checked for each image.
  const graph = greenDetector(32, 64)
  const open: Graph = { ...graph, inputs: [{ name: 'image', shape: [1, 3, 'height', 'width'] }] }
  const detector = await loadDetector(await model(open, { stride: '8', imgsz: '[32, 64]' }), 1)
  t.equal(detector.side, 64)
  const found = await detector.detect({ width: 64, height: 32, data: new Uint8Array(3 * 64 * 32) })
  t.strictSame(found, { boxes: [], highest: 0 })
})

t.test('an input with one variable side', async (t) => {
  // The height is fixed, so that wide images are padded to it, although a multiple of the stride would be smaller.
  const graph = greenDetector(64, 64)
  const open: Graph = { ...graph, inputs: [{ name: 'image', shape: [1, 3, 64, 'width'] }] }
  const detector = await loadDetector(await model(open, { stride: '8', imgsz: '[64, 64]' }), 1)
  const data = new Uint8Array(3 * 64 * 16)
  const found = await detector.detect({ width: 64, height: 16, data })
  t.strictSame(found, { boxes: [], highest: 0 })
})

t.test('boxes outside of the image do not count', async (t) => {
  // A wide image is between 16 rows of padding: one box is in the padding, the other one reaches into the image.
  const wide = { width: 64, height: 32, data: new Uint8Array(3 * 64 * 32) }
  const detect = async (...boxes: readonly (readonly number[])[]) =>
    (await loadDetector(await model(planted(64, 64, [1, 5, 84], dense(1, boxes))), 1)).detect(wide)
  const padding = await detect([20, 5, 10, 8, 0.9])
  t.strictSame(padding, { boxes: [], highest: 0.25 })
  t.equal(modelVerdict(undefined, padding).classification, 'non_water_hyacinth')
  const both = await detect([20, 5, 10, 8, 0.9], [40, 16, 10, 8, 0.5])
  t.strictSame(both, { boxes: [{ x1: 35, y1: 0, x2: 45, y2: 4, confidence: 0.5 }], highest: 0.5 })
})

t.test('of an end-to-end output, the boxes with the highest confidence are kept', async (t) => {
  const found = rows(
    1000,
    6,
    Array.from({ length: 400 }, (_, n) => [0, 0, 10, 10, 0.3 + n / 1024, 0]),
  )
  const path = await model(planted(64, 64, [1, 1000, 6], found), { names: `['water hyacinth']` })
  const { boxes, highest } = await (await loadDetector(path, 1)).detect(square)
  t.equal(boxes.length, 300)
  t.equal(boxes[0]?.confidence, highest)
  t.equal(highest.toFixed(4), (0.3 + 399 / 1024).toFixed(4))
})

t.test('an incompatible model is rejected with the reason', async (t) => {
  const ones = planted(64, 64, [1, 5, 84])
  const names = `{0: 'a', 1: 'b'}`
  const cases: readonly (readonly ['detector' | 'classifier', Graph, Metadata, unknown, RegExp])[] = [
    [
      'detector',
      planted(64, 64, [1, 5, 83]),
      {},
      undefined,
      /output has the shape \[1,5,83\]; for an input of 64 x 64 pixels, \[1,4\+classes,84\], \[1,252,5\+classes\] or \[1,300,6\]/,
    ],
    ['detector', planted(64, 64, [1, 1000]), {}, undefined, /output has the shape \[1,1000\]/],
    ['detector', ones, { task: 'classify' }, undefined, /it is for the task "classify", not "detect"/],
    ['detector', ones, { names }, undefined, /it has 1 classes, but 2 names/],
    ['detector', planted(64, 64, [1, 6, 84]), { names }, undefined, /no class called water hyacinth.*"a", "b"/],
    [
      'detector',
      planted(64, 64, [1, 6, 84]),
      { names: `['no water hyacinth', 'x']` },
      undefined,
      /no class called water hyacinth/,
    ],
    ['detector', planted(64, 64, [1, 6, 84]), {}, undefined, /classes without names/],
    ['detector', planted(64, 64, [1, 300, 6]), {}, undefined, /it has no class names/],
    ['detector', planted(64, 64, [1, 84, 6]), { names }, undefined, /output has the shape \[1,84,6\]/],
    ['detector', planted(64, 64, [1, 84, 5]), {}, undefined, /output has the shape \[1,84,5\]/],
    ['detector', planted('height', 'width', [1, 5, 84]), {}, undefined, /no fixed size: set one as "imgsz"/],
    ['detector', ones, { stride: '7' }, undefined, /"stride" is "7"/],
    ['detector', ones, { imgsz: 'large' }, undefined, /"imgsz" is "large"/],
    ['detector', ones, { names: '{0: a}' }, undefined, /"names" is "\{0: a\}"/],
    [
      'detector',
      ones,
      {},
      { positive: 'lotus', names: ['hyacinth'] },
      /"positive" has "lotus", which is not one of its classes: "hyacinth"/,
    ],
    ['detector', ones, {}, { threshhold: 0.5 }, /threshhold is not one of names, positive/],
    ['detector', ones, {}, { threshold: 2 }, /threshold must be <= 1/],
    ['detector', ones, {}, { std: [1, 0, 1] }, /std\/1 must be > 0/],
    ['detector', ones, {}, '{', /its JSON file is not valid JSON/],
    [
      'detector',
      { ...ones, inputs: [{ name: 'image', shape: [1, 64, 64, 3] }] },
      {},
      undefined,
      /input has the shape \[1,64,64,3\], not \[1,3,height,width\]/,
    ],
    [
      'detector',
      { ...ones, inputs: [{ name: 'image', type: 'float64', shape: [1, 3, 64, 64] }] },
      {},
      undefined,
      /type float64, not float32/,
    ],
    [
      'detector',
      { ...ones, inputs: [...ones.inputs, { name: 'more', shape: [1] }] },
      {},
      undefined,
      /2 inputs instead of one/,
    ],
    ['classifier', planted(32, 32, [1, 1]), {}, undefined, /output has the shape \[1,1\]/],
    ['classifier', planted(32, 32, [1, 3, 84]), {}, undefined, /output has the shape \[1,3,84\]/],
    ['classifier', planted(32, 32, [1, 2]), { names: `['x', 'y']` }, undefined, /no class called water hyacinth/],
    ['classifier', planted(32, 32, [1, 2]), { task: 'detect' }, undefined, /task "detect", not "classify"/],
  ]
  for (const [kind, graph, metadata, sideCar, expected] of cases) {
    const path = await model(graph, metadata, sideCar)
    const load: (path: string, threads: number) => Promise<object> = kind === 'detector' ? loadDetector : loadClassifier
    await t.rejects(load(path, 1), { message: expected }, String(expected))
  }
})

t.test('files that are not ONNX models are rejected', async (t) => {
  const load = async (path: string) =>
    (await loadAnalysis({ classifier: null, detector: path, pixelLimit: 1e8, threads: 1 })).models.detector
  const missing = await load(join(folder, 'nowhere.onnx'))
  t.strictSame(missing, { kind: 'failed', file: 'nowhere.onnx', reason: 'it cannot be read (ENOENT)' })
  const contents: readonly (string | Buffer)[] = [
    '',
    'PK\x03\x04',
    Buffer.alloc(1000, 0xff),
    '<html>',
    Buffer.of(0x3a, 0xff, 0xff, 0xff, 0x7f),
  ]
  for (const content of contents) {
    const path = join(folder, `broken-${++count}.onnx`)
    await writeFile(path, content)
    const state = await load(path)
    t.match(state, { kind: 'failed', file: `broken-${count}.onnx`, reason: /./ })
    t.notMatch(JSON.stringify(state), folder, 'the path is not disclosed')
  }
  t.match(await load(folder), { kind: 'failed', reason: 'it cannot be read (EISDIR)' })
})

t.test('weights can be in another file', async (t) => {
  const graph = planted(32, 32, [1, 2], [1, 0])
  const [constant] = graph.constants ?? []
  if (!constant) throw new Error('the model has no constant')
  const external: Graph = { ...graph, constants: [{ ...constant, file: 'weights.data' }] }
  const path = await model(external, { names: `['water hyacinth', 'other']` })
  const load = async () =>
    (await loadAnalysis({ classifier: path, detector: null, pixelLimit: 1e8, threads: 1 })).models
  const { classifier: without } = await load()
  t.match(without, { kind: 'failed', reason: /weights\.data/ })
  t.notMatch(JSON.stringify(without), folder, 'the path is not disclosed')
  await writeFile(join(folder, 'weights.data'), Buffer.from(Float32Array.of(1, 0).buffer))
  t.match(await load(), { classifier: { kind: 'loaded' } })
})

t.test('if one of two configured models fails to load, images get 503', async (t) => {
  const classifier = await model(colourClassifier(32), { names: `['red', 'water hyacinth', 'blue']` })
  const { analyse, models } = await loadAnalysis({
    classifier,
    detector: join(folder, 'nowhere.onnx'),
    pixelLimit: 1e8,
    threads: 1,
  })
  t.match(models, { classifier: { kind: 'loaded' }, detector: { kind: 'failed' } })
  await t.rejects(analyse(await lake()), /a configured model is not loaded/)
})

t.test('a score that is not finite is an error, never a negative result', async (t) => {
  const badDetectors = [
    planted(64, 64, [1, 5, 84], dense(1, [[20, 20, 10, 20, NaN]])),
    planted(64, 64, [1, 5, 84], dense(1, [[20, 20, 10, 20, 80]])),
    planted(64, 64, [1, 5, 84], dense(1, [[NaN, 20, 10, 20, 0.9]])),
    planted(64, 64, [1, 5, 84], dense(1, [[20, 20, 10, 20, -1]])),
    // Suppression would drop the second box.
    planted(
      64,
      64,
      [1, 5, 84],
      dense(1, [
        [20, 20, 10, 20, 0.9],
        [50, NaN, 10, 20, 0.8],
      ]),
    ),
    // Scores before the sigmoid function, whose products are from 0 to 1.
    planted(64, 64, [1, 252, 6], rows(252, 6, [[20, 20, 10, 20, -0.5, -0.9]])),
    planted(64, 64, [1, 252, 6], rows(252, 6, [[20, 20, 10, 20, 0, 50]])),
    planted(64, 64, [1, 300, 6], rows(300, 6, [[10, 10, 20, 20, 0.9, 2]])),
    planted(64, 64, [1, 300, 6], rows(300, 6, [[10, 10, 20, 20, 0.9, -1]])),
    planted(64, 64, [1, 300, 6], rows(300, 6, [[10, 10, 20, 20, 0.9, Infinity]])),
  ]
  for (const graph of badDetectors) {
    const metadata: Metadata = graph.outputs[0]?.shape[1] === 300 ? { names: `['lily', 'water hyacinth']` } : {}
    const detector = await loadDetector(await model(graph, metadata), 1)
    await t.rejects(detector.detect(square), /the model returned/)
  }
  for (const score of [NaN, Infinity]) {
    const path = await model(planted(32, 32, [1, 2], [score, 1]), {}, { names: ['yes', 'no'], positive: 'yes' })
    const classifier = await loadClassifier(path, 1)
    await t.rejects(classifier.probability(square), /the model returned the score/)
  }
})

t.test('metadata is read from the model file', async (t) => {
  const metadata = { names: `{0: 'x'}`, version: '8.3.1', description: 'ü', stride: '8' }
  const path = await model(greenDetector(640, 640), metadata)
  t.strictSame(Object.fromEntries(await readMetadata(path)), metadata)
  t.equal((await loadDetector(path, 1)).version, `model-${count}/8.3.1`, 'a single class is the positive one')
})

t.test('class names are read from the metadata', async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [`{0: 'water hyacinth', 1: "ship's hull", 2: 'it\\'s'}`, ['water hyacinth', `ship's hull`, `it's`]],
    [`{"0": "a", "1": "b"}`, ['a', 'b']],
    [`['a', "b"]`, ['a', 'b']],
    [`[ 'a' , 'b', ]`, ['a', 'b']],
    [`{1: 'b', 0: 'a'}`, ['a', 'b']],
  ]
  for (const [text, expected] of cases) t.strictSame([...classNames(text)], expected, text)
  for (const text of [
    '',
    '{}',
    '[]',
    'a',
    `{0: 'a'`,
    `{0 'a'}`,
    `['a' 'b']`,
    `{1: 'b'}`,
    `{0: 'a', 1: os.system('x')}`,
  ]) {
    t.throws(() => classNames(text), /its metadata "names"/, text)
  }
})

t.test('scores and thresholds decide on the classification', async (t: Test) => {
  const classified = (probability: number) => ({ probability, threshold: 0.5 })
  const box = (confidence: number) => ({ boxes: [{ x1: 0, y1: 0, x2: 1, y2: 1, confidence }], highest: confidence })
  const cases = [
    [classified(0.9), undefined, 'water_hyacinth', 0.9],
    [classified(0.1), undefined, 'non_water_hyacinth', 0.9],
    [classified(0.55), undefined, 'needs_review', 0.55],
    [classified(0.45), undefined, 'needs_review', 0.55],
    [classified(0.1), box(0.8), 'needs_review', 0.9],
    [classified(0.1), box(0.3), 'non_water_hyacinth', 0.9],
    [classified(0.9), { boxes: [], highest: 0 }, 'water_hyacinth', 0.9],
    [undefined, box(0.8), 'water_hyacinth', 0.8],
    [undefined, box(0.3), 'needs_review', 0.7],
    [undefined, { boxes: [], highest: 0.2 }, 'non_water_hyacinth', 0.8],
  ] as const
  for (const [classifier, detection, classification, confidence] of cases) {
    t.match(modelVerdict(classifier, detection), { classification, confidence })
  }
  t.ok((await greenLake()).length > 0)
})
