// Transformation of images: parameters, sizes, formats, and files that are no images.
import sharp from 'sharp'
import t from 'tap'
import { RefusedTask } from '../../../server/services/background/program.ts'
import { layoutOf } from '../../../server/services/storage/render/transformer/layout.ts'
import { prepareTransforming, transform } from '../../../server/services/storage/render/transformer/transform.ts'
import {
  claimOf,
  describe,
  transformationOf,
  transformationOfClaim,
  withinLimits,
  type Transformation,
} from '../../../server/services/storage/render/transformation.ts'
import { hostileFiles } from '../../support/hostile-images.ts'
import { noise, picture, water } from '../../support/test-image.ts'

const pixelLimit = 1_000_000
const hostile = await hostileFiles()
const sources = {
  jpeg: await picture(200, 100, '#ff0000', ['#0000ff', 0, 0, 50, 100]).jpeg().toBuffer(),
  png: await picture(200, 100, '#ff0000').png().toBuffer(),
  webp: await picture(200, 100, '#ff0000').webp().toBuffer(),
  gif: await picture(200, 100, '#ff0000').gif().toBuffer(),
  avif: await picture(200, 100, '#ff0000').avif().toBuffer(),
}
const turned = await picture(200, 100, water).withMetadata({ orientation: 6 }).jpeg().toBuffer()
const animation = await sharp(
  [await picture(40, 30, '#ff0000').gif().toBuffer(), await picture(40, 30, '#00ff00').gif().toBuffer()],
  { join: { animated: true } },
)
  .gif()
  .toBuffer()
const transparent = await picture(20, 20, '#ff0000').ensureAlpha(0).png().toBuffer()
// From here on, sharp cannot read other formats.
prepareTransforming(1)

const parse = (query: string): Transformation => transformationOf(new URLSearchParams(query))

t.test('parameters are read, clamped, described and signed', async (t) => {
  const limits = { min: 1, max: 2000 }
  const rows = [
    ['', '', ''],
    ['width=80', 'width:80,resizing_type:fill', 'width:80,resize:undefined'],
    [
      'width=80&height=60&resize=cover&quality=50',
      'height:60,width:80,resizing_type:fill,quality:50',
      'height:60,width:80,resize:cover,quality:50',
    ],
    ['height=60&resize=contain', 'height:60,resizing_type:fit', 'height:60,resize:contain'],
    ['height=60&resize=fill', 'height:60,resizing_type:force', 'height:60,resize:fill'],
    ['width=99999&height=5000', 'height:2000,width:2000,resizing_type:fill', 'height:2000,width:2000,resize:undefined'],
    ['width=0&height=0&resize=fill', '', ''],
    ['format=origin', '', ''],
    ['format=avif', 'format:avif', 'format:avif'],
    ['width=5&gravity=sm&x_offset=3', 'width:5,resizing_type:fill,gravity:sm', 'width:5,resize:undefined,gravity:sm'],
    ['gravity=no', 'gravity:no', 'gravity:no'],
    ['gravity=so&x_offset=2', 'gravity:so:2:0', 'gravity:so:2:0'],
    ['gravity=fp&x_offset=0.25&y_offset=1', 'gravity:fp:0.25:1', 'gravity:fp:0.25:1'],
    ['quality=1e2&token=x&download=y', 'quality:100', 'quality:100'],
  ] as const
  for (const [query, described, claim] of rows) {
    const transformation = withinLimits(parse(query), limits)
    t.equal(describe(transformation), described, `${query}: header`)
    t.equal(claimOf(transformation), claim, `${query}: claim`)
    t.equal(describe(transformationOfClaim(claim)), described, `${query}: from the claim`)
  }
  t.equal(
    describe(withinLimits(parse('width=1&height=5'), { min: 10, max: 20 })),
    'height:10,width:10,resizing_type:fill',
  )
})

t.test('invalid parameters are named', async (t) => {
  const rows = [
    ['width=abc', 'querystring/width must be integer'],
    ['width=', 'querystring/width must be integer'],
    ['width=1.5', 'querystring/width must be integer'],
    ['width=1&width=2', 'querystring/width must be integer'],
    ['height=-1', 'querystring/height must be >= 0'],
    ['height=Infinity', 'querystring/height must be integer'],
    ['quality=19', 'querystring/quality must be >= 20'],
    ['quality=101', 'querystring/quality must be <= 100'],
    ['resize=crop', 'querystring/resize must be equal to one of the allowed values'],
    ['format=svg', 'querystring/format must be equal to one of the allowed values'],
    ['gravity=up', 'querystring/gravity must be equal to one of the allowed values'],
    ['x_offset=left', 'querystring/x_offset must be number'],
    ['gravity=fp&x_offset=0.5', 'Focal point requires x and y coordinates within 0-1 range'],
    ['gravity=fp&x_offset=0.5&y_offset=1.1', 'Focal point requires x and y coordinates within 0-1 range'],
  ] as const
  for (const [query, message] of rows) t.throws(() => parse(query), { name: 'TransformationError', message }, query)
})

t.test('claims of unknown content have no effect', async (t) => {
  for (const claim of [
    '',
    'width',
    'width:',
    'width:x',
    'width:-5',
    'quality:1000',
    'resize:x',
    'format:svg',
    'a:b:c',
  ]) {
    t.strictSame(transformationOfClaim(claim), {}, claim)
  }
})

t.test('sizes: nothing is enlarged, nothing is distorted except by fill', async (t) => {
  const source = { width: 200, height: 100 }
  const rows: readonly (readonly [string, number, number])[] = [
    ['', 200, 100],
    ['width=100', 100, 50],
    ['height=50', 100, 50],
    ['width=400', 200, 100],
    ['width=50&height=50', 50, 50],
    ['width=50&height=50&resize=contain', 50, 25],
    ['width=50&height=50&resize=fill', 50, 50],
    ['width=400&height=400', 200, 100],
    ['width=400&height=50', 200, 50],
    ['width=400&height=400&resize=contain', 200, 100],
    ['width=400&height=400&resize=fill', 100, 100],
    ['width=50&resize=fill', 50, 100],
    ['width=1&height=1', 1, 1],
    ['height=1', 2, 1],
  ]
  for (const [query, width, height] of rows) {
    t.match(layoutOf(source, parse(query)).crop, { width, height }, query)
    const { bytes } = await transform(
      sources.png,
      { transformation: parse(query), acceptsWebp: false },
      { pixelLimit, threads: 1 },
    )
    t.match(await sharp(bytes).metadata(), { width, height }, `${query}: the image`)
  }
  t.match(layoutOf({ width: 10_000, height: 1 }, parse('width=100')).crop, { width: 100, height: 1 })
})

t.test('gravity chooses the part that is kept', async (t) => {
  const source = { width: 300, height: 300 }
  const position = (query: string) => {
    const { left, top } = layoutOf(source, parse(`width=100&height=50&${query}`)).crop
    return [left, top]
  }
  // Scaled to 100 x 100, of which 50 rows are kept.
  t.strictSame(position(''), [0, 25])
  t.strictSame(position('gravity=no'), [0, 0])
  t.strictSame(position('gravity=so'), [0, 50])
  t.strictSame(position('gravity=so&y_offset=10'), [0, 40])
  t.strictSame(position('gravity=no&y_offset=0.1'), [0, 10])
  t.strictSame(position('gravity=no&y_offset=-10'), [0, 0])
  t.strictSame(position('gravity=fp&x_offset=0.5&y_offset=1'), [0, 50])
  const { left, top } = layoutOf({ width: 300, height: 100 }, parse('width=100&height=100&gravity=soea')).crop
  t.strictSame([left, top], [200, 0])
  const kept = await transform(
    sources.jpeg,
    { transformation: parse('width=50&height=100&gravity=we'), acceptsWebp: false },
    { pixelLimit, threads: 1 },
  )
  const { data } = await sharp(kept.bytes).raw().toBuffer({ resolveWithObject: true })
  t.ok((data[2] ?? 0) > 200 && (data[0] ?? 255) < 60, 'the blue left of the image')
  const smart = await transform(
    sources.jpeg,
    { transformation: parse('width=50&height=100&gravity=sm'), acceptsWebp: false },
    { pixelLimit, threads: 1 },
  )
  t.match(await sharp(smart.bytes).metadata(), { width: 50, height: 100 })
})

t.test('formats: the same, the requested one, or WebP if it is accepted', async (t) => {
  for (const [source, bytes] of Object.entries(sources)) {
    for (const [query, acceptsWebp, type] of [
      ['width=50', false, `image/${source}`],
      ['width=50', true, 'image/webp'],
      ['width=50&format=origin', true, `image/${source}`],
      ['width=50&format=avif', true, 'image/avif'],
      ['width=50&format=webp', false, 'image/webp'],
    ] as const) {
      const result = await transform(bytes, { transformation: parse(query), acceptsWebp }, { pixelLimit, threads: 1 })
      t.equal(result.type, type, `${source}, ${query}, ${acceptsWebp}`)
      const { format, width, height } = await sharp(result.bytes).metadata()
      t.strictSame([`image/${format === 'heif' ? 'avif' : format}`, width, height], [type, 50, 25])
    }
  }
})

t.test('orientation is applied, metadata is dropped, animations become their first frame', async (t) => {
  const run = (bytes: Buffer, query: string) =>
    transform(bytes, { transformation: parse(query), acceptsWebp: false }, { pixelLimit, threads: 1 })
  const upright = await sharp((await run(turned, 'width=50')).bytes).metadata()
  t.strictSame([upright.width, upright.height, upright.exif, upright.orientation], [50, 100, undefined, undefined])
  const first = await sharp((await run(animation, 'width=20')).bytes).metadata()
  t.strictSame([first.width, first.height, first.pages ?? 1], [20, 15, 1])
  t.equal((await sharp((await run(transparent, '')).bytes).metadata()).hasAlpha, true)
  const coarse = await run(await noise(200, 200).jpeg().toBuffer(), 'quality=20')
  const fine = await run(await noise(200, 200).jpeg().toBuffer(), 'quality=100')
  t.ok(coarse.bytes.length * 2 < fine.bytes.length, 'quality')
})

t.test('hostile files are transformed or rejected, without other effects', async (t) => {
  let done = 0
  for (const { name, bytes } of hostile) {
    const result = await transform(
      bytes,
      { transformation: { width: 50, height: 50 }, acceptsWebp: true },
      { pixelLimit, threads: 1 },
    ).then(
      ({ type }) => type,
      (error: unknown) => (error instanceof RefusedTask ? 'refused' : String(error)),
    )
    if (result === 'image/webp') done++
    else if (result !== 'refused') t.fail(`${name}: ${result}`)
  }
  t.ok(done > 0 && done < hostile.length, `${done} of ${hostile.length} transformed`)
  for (const name of ['tiff', 'svg', 'svg that includes a file', 'html', 'pdf', 'ppm', 'vips', 'bmp', 'zero bytes']) {
    const { bytes } = hostile.find((file) => file.name === name) ?? { bytes: Buffer.alloc(0) }
    await t.rejects(
      transform(bytes, { transformation: {}, acceptsWebp: false }, { pixelLimit, threads: 1 }),
      { fault: 'undecodable', message: 'The source image is invalid or unsupported for rendering' },
      name,
    )
  }
  await t.rejects(
    transform(
      await picture(1001, 1000, water).png().toBuffer(),
      { transformation: {}, acceptsWebp: false },
      { pixelLimit, threads: 1 },
    ),
    { fault: 'too many pixels', message: 'The source image resolution is too large to process' },
  )
})
