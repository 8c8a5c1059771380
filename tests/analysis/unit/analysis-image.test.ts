// Decoding, the baseline without a model, and the evaluation of boxes.
import type { Sharp } from 'sharp'
import t from 'tap'
import { suppressed, unionArea } from '../../../server/services/analysis/analyser/box.ts'
import { greenCover, otsuThreshold } from '../../../server/services/analysis/analyser/colour-index.ts'
import {
  decodeImage,
  ImageError,
  prepareDecoding,
  type Pixels,
} from '../../../server/services/analysis/analyser/image.ts'
import { components, opened, type Mask } from '../../../server/services/analysis/analyser/mask.ts'
import type { Analysis } from '../../../server/services/analysis/analyser/message.ts'
import { baselineVerdict } from '../../../server/services/analysis/analyser/verdict.ts'
import { decodeBase64Image } from '../../../server/services/analysis/base64-image.ts'
import { olderPredictionOf, predictionOf, riskOf } from '../../../server/services/analysis/prediction.ts'
import { hostileFiles } from '../../support/hostile-images.ts'
import { greenLake, lake, noise, picture, plants, water } from '../../support/test-image.ts'

const pixelLimit = 1_000_000
const hostile = await hostileFiles()
// From here on, sharp cannot read other formats.
prepareDecoding(1)

const decode = (image: Uint8Array, longSide = 512) => decodeImage(image, pixelLimit, longSide)
/** The reason why an image is rejected; undefined if it can be decoded. */
const faultOf = (image: Uint8Array): Promise<unknown> =>
  decode(image).then(
    () => undefined,
    (error: unknown) => (error instanceof ImageError ? error.fault : error),
  )
const pixelAt = ({ width, data }: Pixels, x: number, y: number): number[] => [
  ...data.subarray(3 * (y * width + x), 3 * (y * width + x) + 3),
]

t.test('JPEG, PNG and WebP of every kind are decoded to upright RGB', async (t) => {
  const red = picture(60, 40, '#ff0000')
  const images = {
    jpeg: red.clone().jpeg(),
    'progressive jpeg': red.clone().jpeg({ progressive: true }),
    'grey jpeg': red.clone().greyscale().jpeg(),
    'cmyk jpeg': red.clone().toColourspace('cmyk').jpeg(),
    png: red.clone().png(),
    'png with a palette': red.clone().png({ palette: true }),
    'png of 16 bits': red.clone().toColourspace('rgb16').png(),
    'transparent png': red.clone().ensureAlpha(0).png(),
    webp: red.clone().webp(),
    'lossless webp': red.clone().webp({ lossless: true }),
  }
  for (const [name, image] of Object.entries(images)) {
    const { width, height, pixels } = await decode(await image.toBuffer())
    t.strictSame([width, height, pixels.data.length], [60, 40, 3 * 60 * 40], name)
    const [r = 0, g = 0, b = 0] = pixelAt(pixels, 30, 20)
    if (name === 'transparent png') t.strictSame([r, g, b], [255, 255, 255], name)
    else if (name === 'grey jpeg') t.ok(Math.abs(r - g) < 3 && Math.abs(g - b) < 3, name)
    else t.ok(r > 200 && g < 60 && b < 60, `${name}: ${r} ${g} ${b}`)
  }
})

t.test('every EXIF orientation is applied', async (t) => {
  // The image is green on the left and red on the right. `side` is the upright position of the green half.
  const image = picture(80, 40, '#ff0000', ['#00ff00', 0, 0, 40, 40])
  const expected = ['left', 'right', 'right', 'left', 'top', 'top', 'bottom', 'bottom'] as const
  for (const [index, side] of expected.entries()) {
    const bytes = await image
      .clone()
      .withMetadata({ orientation: index + 1 })
      .jpeg()
      .toBuffer()
    const { width, height, pixels } = await decode(bytes)
    t.strictSame([width, height], index < 4 ? [80, 40] : [40, 80], `orientation ${index + 1}`)
    const at = { left: [10, 20], right: [70, 20], top: [20, 10], bottom: [20, 70] }[side]
    t.ok((pixelAt(pixels, at[0] ?? 0, at[1] ?? 0)[1] ?? 0) > 200, `orientation ${index + 1}: ${side}`)
  }
})

t.test('large images are scaled down, and the result has the size of the original', async (t) => {
  const { width, height, pixels } = await decode(await picture(1000, 250, water).jpeg().toBuffer(), 200)
  t.strictSame([width, height, pixels.width, pixels.height], [1000, 250, 200, 50])
  const thin = await decode(await picture(1000, 1, water).png().toBuffer(), 100)
  t.strictSame([thin.pixels.width, thin.pixels.height], [100, 1])
})

t.test('images above the pixel limit are rejected', async (t) => {
  t.ok(await decode(await picture(1000, 1000, water).png().toBuffer()), 'exactly at the limit')
  await t.rejects(decode(await picture(1001, 1000, water).png().toBuffer()), {
    fault: 'too many pixels',
    message: 'The image has 1001 x 1000 pixels; the limit is 1 megapixels.',
  })
})

t.test('truncated images are rejected, wherever they end', async (t) => {
  for (const image of [
    noise(60, 40).jpeg(),
    noise(60, 40).jpeg({ progressive: true }),
    noise(60, 40).png(),
    noise(60, 40).webp(),
  ]) {
    const bytes = await image.toBuffer()
    t.ok(await decode(bytes), 'the whole image')
    for (let part = 1; part < 20; part++) {
      const cut = bytes.subarray(0, Math.floor((bytes.length * part) / 20))
      t.equal(await faultOf(cut), 'undecodable', `${part} of 20`)
    }
  }
  const bytes = await noise(60, 40).jpeg().toBuffer()
  const closed = Buffer.concat([bytes.subarray(0, bytes.length / 2), Buffer.of(0xff, 0xd9)])
  t.equal(await faultOf(closed), 'undecodable', 'the first half of an image with an end marker')
})

t.test('a damaged image is rejected, also behind a harmless warning', async (t) => {
  // Such parameters of the scan are ignored, with a warning. libjpeg reports no other warning then.
  const withOddScan = (jpeg: Buffer): Buffer => {
    const copy = Buffer.from(jpeg)
    const scan = copy.indexOf(Buffer.of(0xff, 0xda))
    copy[scan + 6 + 2 * (copy[scan + 4] ?? 0)] = 0
    return copy
  }
  const withOtherBytes = (jpeg: Buffer): Buffer => {
    const frame = jpeg.indexOf(Buffer.of(0xff, 0xc0))
    return Buffer.concat([jpeg.subarray(0, frame), Buffer.of(1, 2, 3), jpeg.subarray(frame)])
  }
  const plain = await noise(60, 40).jpeg().toBuffer()
  const closed = Buffer.concat([plain.subarray(0, Math.floor(plain.length * 0.7)), Buffer.of(0xff, 0xd9)])
  for (const [name, odd] of Object.entries({ withOddScan, withOtherBytes })) {
    t.ok(await decode(odd(plain)), `${name}: the whole image`)
    t.equal(await faultOf(odd(closed)), 'undecodable', `${name}: without its end`)
  }
})

t.test('hostile files are decoded or rejected, without other effects', async (t) => {
  t.ok(hostile.length >= 500, `${hostile.length} files`)
  let decoded = 0
  for (const { name, bytes } of hostile) {
    const result = await decode(bytes).then(
      ({ width, height }) => (width * height <= pixelLimit ? 'decoded' : 'too large'),
      (error: unknown) => (error instanceof Error && error.name === 'ImageError' ? 'refused' : String(error)),
    )
    if (result === 'decoded') decoded++
    if (result !== 'decoded' && result !== 'refused') t.fail(`${name}: ${result}`)
  }
  t.ok(decoded < hostile.length / 2, `${decoded} decoded`)
  for (const name of ['gif', 'tiff', 'avif', 'svg', 'html', 'pdf', 'ppm', 'vips', 'zero bytes']) {
    const { bytes } = hostile.find((file) => file.name === name) ?? { bytes: Buffer.alloc(0) }
    t.equal(await faultOf(bytes), 'undecodable', name)
  }
  t.ok(await decode(await lake()), 'images are still decoded')
})

// The baseline --------------------------------------------------------------------------------------------------------

const cover = async (image: Buffer) => greenCover((await decode(image)).pixels)

t.test('the baseline finds green regions', async (t) => {
  t.match(await cover(await lake()), { share: 0, boxes: [] })
  const { share, boxes } = await cover(await greenLake())
  t.ok(Math.abs(share - 1 / 16) < 0.01, String(share))
  t.match(boxes, [{ x1: 120, y1: 90, x2: 200, y2: 150 }])
  t.ok((boxes[0]?.confidence ?? 0) > 0.25)
  for (const colour of ['#000000', '#ffffff', '#808080', '#7a5c3a', '#001000', '#3a6ea5', '#ff0000']) {
    t.strictSame(
      (await cover(await picture(200, 200, colour).png().toBuffer())).boxes,
      [],
      `no green regions: ${colour}`,
    )
  }
  t.match((await cover(await picture(200, 100, plants).png().toBuffer())).boxes, [{ x1: 0, y1: 0, x2: 200, y2: 100 }])
  t.strictSame((await cover(await noise(300, 300).png().toBuffer())).boxes, [], 'noise has no regions')
  const two = picture(200, 100, water, [plants, 10, 10, 40, 40], [plants, 120, 20, 60, 60])
  t.strictSame(
    (await cover(await two.png().toBuffer())).boxes.map(({ x1, y1, x2, y2 }) => [x1, y1, x2, y2]),
    [
      [120, 20, 180, 80],
      [10, 10, 50, 50],
    ],
    'largest first',
  )
})

t.test('the baseline denies only what it can see', async (t) => {
  const verdict = async (image: Sharp) => baselineVerdict(await cover(await image.png().toBuffer())).classification
  const murky = '#4a5a3a'
  const rows: readonly (readonly [string, Sharp, string])[] = [
    ['open water', picture(200, 200, water), 'non_water_hyacinth'],
    ['a brown bank', picture(200, 200, water, ['#7a5c3a', 0, 0, 200, 90]), 'non_water_hyacinth'],
    ['grey water below a blue sky', picture(200, 200, '#808080', ['#9ab8d8', 0, 0, 200, 60]), 'non_water_hyacinth'],
    ['plants everywhere', picture(200, 200, plants), 'needs_review'],
    ['half plants, half water', picture(200, 200, water, [plants, 0, 0, 100, 200]), 'needs_review'],
    ['murky plants with a bright speck', picture(200, 200, murky, ['#00ff00', 90, 90, 12, 12]), 'needs_review'],
    ['night', picture(200, 200, '#050806', ['#ffd080', 20, 20, 30, 30]), 'needs_review'],
    ['black', picture(200, 200, '#000000'), 'needs_review'],
    ['overexposed', picture(200, 200, '#ffffff'), 'needs_review'],
    ['plants in greyscale', picture(200, 200, water, [plants, 0, 0, 100, 200]).greyscale(), 'needs_review'],
    ['colourful noise', noise(200, 200), 'non_water_hyacinth'],
  ]
  for (const [name, image, expected] of rows) t.equal(await verdict(image), expected, name)
})

t.test("Otsu's threshold lies between two groups of values", async (t) => {
  const values = Float32Array.from({ length: 1000 }, (_, index) => (index % 4 === 0 ? 0.8 : 0.1) + (index % 10) / 200)
  const threshold = otsuThreshold(values)
  t.ok(threshold > 0.145 && threshold <= 0.8, String(threshold))
  t.equal(otsuThreshold(new Float32Array(10)), 0)
})

const mask = (...lines: readonly string[]): Mask => ({
  width: lines[0]?.length ?? 0,
  height: lines.length,
  bits: Uint8Array.from(lines.join(''), (letter) => (letter === '#' ? 1 : 0)),
})

t.test('opening removes specks and threads', async (t) => {
  const before = mask('#......', '..###..', '..####.', '..###..', '.......', '.#.....', '.#.....')
  const after = mask('.......', '..###..', '..###..', '..###..', '.......', '.......', '.......')
  t.strictSame(opened(before), after)
  const full = mask('###', '###', '###')
  t.strictSame(opened(full), full)
})

t.test('connected regions are found', async (t) => {
  const found = components(mask('##..#', '#...#', '...#.', '#....'))
  t.strictSame(found, [
    { x1: 0, y1: 0, x2: 2, y2: 2, pixels: 3 },
    { x1: 3, y1: 0, x2: 5, y2: 3, pixels: 3 },
    { x1: 0, y1: 3, x2: 1, y2: 4, pixels: 1 },
  ])
})

// Boxes and responses -------------------------------------------------------------------------------------------------

const box = (x1: number, y1: number, x2: number, y2: number, confidence = 0.5) => ({ x1, y1, x2, y2, confidence })

t.test('overlapping areas of boxes are counted once', async (t) => {
  const cases = [
    [[], 0],
    [[box(0, 0, 10, 10)], 100],
    [[box(0, 0, 10, 10), box(0, 0, 10, 10)], 100],
    [[box(0, 0, 10, 10), box(5, 5, 15, 15)], 175],
    [[box(0, 0, 10, 10), box(2, 2, 4, 4)], 100],
    [[box(0, 0, 10, 10), box(20, 20, 30, 30)], 200],
    [[box(0, 0, 30, 10), box(10, 0, 20, 30), box(0, 20, 30, 30)], 700],
  ] as const
  for (const [boxes, area] of cases) t.equal(unionArea(boxes), area)
  // The expected area is found by counting pixels.
  let state = 3
  const random = (): number => (state = (state * 16_807) % 2_147_483_647) % 40
  for (let round = 0; round < 50; round++) {
    const boxes = Array.from({ length: 8 }, () => {
      const [x, y] = [random(), random()]
      return box(x, y, x + 1 + random(), y + 1 + random())
    })
    let pixels = 0
    for (let x = 0; x < 90; x++) {
      for (let y = 0; y < 90; y++) if (boxes.some((b) => b.x1 <= x && x < b.x2 && b.y1 <= y && y < b.y2)) pixels++
    }
    t.equal(unionArea(boxes), pixels)
  }
})

t.test('of overlapping boxes, the one with the highest confidence is kept', async (t) => {
  const boxes = [box(0, 0, 10, 10, 0.5), box(1, 0, 11, 10, 0.9), box(20, 0, 30, 10, 0.4)]
  t.strictSame(suppressed(boxes, 0.45, 10), [boxes[1], boxes[2]])
  t.strictSame(suppressed(boxes, 0.45, 1), [boxes[1]])
  t.strictSame(suppressed(boxes, 1, 10).length, 3)
})

t.test('the risk level depends on the coverage before rounding', async (t) => {
  const rows = [
    [0, 'NONE'],
    [0.0001, 'LOW'],
    [14.999, 'LOW'],
    [15, 'MEDIUM'],
    [39.999, 'MEDIUM'],
    [40, 'HIGH'],
    [69.999, 'HIGH'],
    [70, 'CRITICAL'],
    [100, 'CRITICAL'],
  ] as const
  for (const [coverage, risk] of rows) t.equal(riskOf(coverage), risk, String(coverage))
})

const analysis = (more: Partial<Analysis>): Analysis => ({
  width: 100,
  height: 100,
  classification: 'water_hyacinth',
  confidence: 0.91234,
  probability: 0.91234,
  threshold: 0.5,
  boxes: [],
  method: 'onnx',
  modelVersion: 'm/1',
  decodeMilliseconds: 20,
  inferenceMilliseconds: 30.26,
  ...more,
})

t.test('predictions are derived from boxes and classes', async (t) => {
  t.strictSame(predictionOf(analysis({ boxes: [box(0, 0, 50.04, 50, 0.8), box(25, 0, 75, 50, 0.6)] })), {
    classification: 'water_hyacinth',
    classification_confidence: 0.9123,
    detected_regions: 2,
    coverage_percent: 37.5,
    detection_confidence: 0.7,
    risk_level: 'MEDIUM',
    image_width: 100,
    image_height: 100,
    boxes: [
      { x1: 0, y1: 0, x2: 50, y2: 50, confidence: 0.8, width: 50, height: 50 },
      { x1: 25, y1: 0, x2: 75, y2: 50, confidence: 0.6, width: 50, height: 50 },
    ],
    model_version: 'm/1',
    method: 'onnx',
    result_label: 'Water Hyacinth',
    recommendation: 'Report the place to the local authority and plan its removal.',
    inference_ms: 30.3,
  })
  t.match(predictionOf(analysis({ boxes: [box(0, 0, 38.7, 38.73)] })), { coverage_percent: 15, risk_level: 'LOW' })
  t.match(predictionOf(analysis({})), { detection_confidence: 0, coverage_percent: 0, risk_level: 'NONE' })
})

t.test('predictions in the legacy format', async (t) => {
  t.strictSame(olderPredictionOf(analysis({})), {
    prediction: 'water_hyacinth',
    probability: 0.9123,
    confidence: 0.9123,
    threshold: 0.5,
    inference_time_seconds: 0.0503,
  })
  t.match(olderPredictionOf(analysis({ classification: 'non_water_hyacinth', probability: 0.2, confidence: 0.8 })), {
    prediction: 'not_water_hyacinth',
    probability: 0.2,
    confidence: 0.8,
  })
  const baseline = { probability: null, threshold: null, method: 'colour-index' } as const
  t.match(olderPredictionOf(analysis({ ...baseline, classification: 'non_water_hyacinth', confidence: 0.9 })), {
    prediction: 'not_water_hyacinth',
    probability: 0.1,
    confidence: 0.9,
  })
  t.equal(olderPredictionOf(analysis({ ...baseline, classification: 'needs_review', confidence: 0.5 })), undefined)
  const doubtful = { classification: 'needs_review', probability: 0.1, confidence: 0.9 } as const
  t.equal(olderPredictionOf(analysis(doubtful)), undefined, 'the detector contradicts the classifier')
})

t.test('base64 is decoded strictly', async (t) => {
  const encoded = Buffer.from('hello?>').toString('base64')
  t.equal(encoded, 'aGVsbG8/Pg==')
  t.match(decodeBase64Image(encoded), { type: '', bytes: Buffer.from('hello?>') })
  t.match(decodeBase64Image(`data:image/PNG;base64,${encoded}`), { type: 'image/png', bytes: Buffer.from('hello?>') })
  t.match(decodeBase64Image(`data:image/jpeg;charset=utf-8;base64,${encoded}`), { type: 'image/jpeg' })
  t.match(decodeBase64Image(`data:;base64,${encoded}`), { type: '', bytes: Buffer.from('hello?>') })
  for (const text of [
    '',
    'a',
    'aGVsbG8/Pg',
    'aGVsbG8/Pg=',
    'aGVsbG8_Pg==',
    ' aGVsbG8/Pg==',
    'aGVs\nbG8/Pg==',
    '====',
    'a===',
    'data:image/png,aGVs',
    'data:image/png;base64,',
    'data:image/png;base64,!!!!',
    'aGVs====',
    'ü'.repeat(4),
  ]) {
    t.throws(() => decodeBase64Image(text), { message: 'Invalid base64 image payload.' }, JSON.stringify(text))
  }
})
