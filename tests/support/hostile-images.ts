// Files that are not images although they claim to be, and images designed to do harm.
import { crc32, deflateSync } from 'node:zlib'
import { noise, picture, plants, water } from './test-image.ts'
import { seededRandom, testSeed } from './seeded-random.ts'

export type HostileFile = { readonly name: string; readonly bytes: Buffer }

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}
const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  return Buffer.concat([u32(data.length), body, u32(crc32(body))])
}
const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** A PNG of these chunks after a header with this size. */
const png = (width: number, height: number, colourType: number, ...chunks: readonly Buffer[]): Buffer =>
  Buffer.concat([
    pngSignature,
    chunk('IHDR', Buffer.concat([u32(width), u32(height), Buffer.of(8, colourType, 0, 0, 0)])),
    ...chunks,
    chunk('IEND', Buffer.alloc(0)),
  ])
const zeros = (length: number): Buffer => chunk('IDAT', deflateSync(Buffer.alloc(length), { level: 9 }))

/** A JPEG whose header claims another size. */
function jpegOfSize(jpeg: Buffer, width: number, height: number): Buffer {
  const copy = Buffer.from(jpeg)
  const frame = copy.indexOf(Buffer.of(0xff, 0xc0))
  copy.writeUInt16BE(height, frame + 5)
  copy.writeUInt16BE(width, frame + 7)
  return copy
}

/** A JPEG with an additional segment at its start. */
const withSegment = (jpeg: Buffer, marker: number, data: Buffer): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(data.length + 2)
  return Buffer.concat([jpeg.subarray(0, 2), Buffer.of(0xff, marker), length, data, jpeg.subarray(2)])
}

const html = Buffer.from('<html><script>alert(1)</script><img src=x onerror=alert(1)>')
const svg = Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')

/** Files of other formats, none of which may be decoded, whatever their declared type. */
async function otherFormats(): Promise<HostileFile[]> {
  const image = picture(16, 16, water)
  return [
    { name: 'gif', bytes: await image.clone().gif().toBuffer() },
    { name: 'tiff', bytes: await image.clone().tiff().toBuffer() },
    { name: 'avif', bytes: await image.clone().avif().toBuffer() },
    { name: 'svg', bytes: svg },
    {
      name: 'svg that includes a file',
      bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
    },
    { name: 'html', bytes: html },
    { name: 'pdf', bytes: Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF') },
    { name: 'zip', bytes: Buffer.from('PK\x03\x04' + '\0'.repeat(100), 'latin1') },
    { name: 'elf', bytes: Buffer.from('\x7fELF' + '\0'.repeat(100), 'latin1') },
    { name: 'bmp', bytes: Buffer.concat([Buffer.from('BM'), Buffer.alloc(100)]) },
    { name: 'ppm', bytes: Buffer.from('P6 2 2 255\n' + 'x'.repeat(12)) },
    { name: 'vips', bytes: Buffer.concat([Buffer.of(0xb6, 0xa6, 0xf2, 0x08), Buffer.alloc(100)]) },
    { name: 'zero bytes', bytes: Buffer.alloc(0) },
    { name: 'one byte', bytes: Buffer.of(0xff) },
    { name: 'zeros', bytes: Buffer.alloc(100_000) },
  ]
}

/** Small files that claim, or decompress to, much more. */
function bombs(jpeg: Buffer, webp: Buffer): HostileFile[] {
  const text = deflateSync(Buffer.alloc(20_000_000, 'a'), { level: 9 })
  const animated = Buffer.from(webp)
  return [
    { name: 'png of 50000 x 50000', bytes: png(50_000, 50_000, 2, zeros(1_000_000)) },
    { name: 'png of 2^31 x 1', bytes: png(0x7fffffff, 1, 2, zeros(1000)) },
    { name: 'png of 0 x 0', bytes: png(0, 0, 2, zeros(10)) },
    { name: 'png of 7000 x 7000 grey, all zeros', bytes: png(7000, 7000, 0, zeros(7000 * 7001)) },
    {
      name: 'png with text of 20 MB',
      bytes: png(1, 1, 2, chunk('zTXt', Buffer.concat([Buffer.from('a\0\0'), text])), zeros(4)),
    },
    {
      name: 'png with a colour profile of 20 MB',
      bytes: png(1, 1, 2, chunk('iCCP', Buffer.concat([Buffer.from('a\0\0'), text])), zeros(4)),
    },
    {
      name: 'png with 100,000 chunks',
      bytes: png(1, 1, 2, ...Array<Buffer>(100_000).fill(chunk('tEXt', Buffer.from('a\0b'))), zeros(4)),
    },
    { name: 'jpeg of 65535 x 65535', bytes: jpegOfSize(jpeg, 65_535, 65_535) },
    { name: 'jpeg of 0 x 0', bytes: jpegOfSize(jpeg, 0, 0) },
    { name: 'jpeg of 7000 x 7000 without data', bytes: jpegOfSize(jpeg, 7000, 7000) },
    {
      name: 'jpeg with 1000 segments',
      bytes: Array.from({ length: 1000 }).reduce<Buffer>((all) => withSegment(all, 0xe4, Buffer.alloc(200)), jpeg),
    },
    {
      name: 'jpeg with broken exif',
      bytes: withSegment(jpeg, 0xe1, Buffer.from('Exif\0\0II*\0\x08\0\0\0\xff\xff' + '\xff'.repeat(200), 'latin1')),
    },
    { name: 'webp with a wrong size', bytes: (animated.writeUInt32LE(0xffffffff, 4), animated) },
  ]
}

/** Images that are also valid files of another type. */
function polyglots(images: readonly HostileFile[]): HostileFile[] {
  const others = [html, svg, Buffer.from('PK\x05\x06' + '\0'.repeat(18), 'latin1'), Buffer.from('%PDF-1.7\n%%EOF')]
  return images.flatMap(({ name, bytes }) =>
    others.flatMap((other, index) => [
      { name: `${name} followed by another file, ${index}`, bytes: Buffer.concat([bytes, other]) },
      { name: `${name} after another file, ${index}`, bytes: Buffer.concat([other, bytes]) },
      {
        name: `signature of ${name} before another file, ${index}`,
        bytes: Buffer.concat([bytes.subarray(0, 16), other]),
      },
    ]),
  )
}

/** At least 500 files, the same each time. */
export async function hostileFiles(): Promise<readonly HostileFile[]> {
  const image = picture(200, 150, water, [plants, 40, 40, 60, 60])
  const images = [
    { name: 'jpeg', bytes: await image.clone().jpeg().toBuffer() },
    { name: 'progressive jpeg', bytes: await image.clone().jpeg({ progressive: true }).toBuffer() },
    { name: 'png', bytes: await image.clone().png().toBuffer() },
    { name: 'webp', bytes: await image.clone().webp().toBuffer() },
    { name: 'lossless webp', bytes: await image.clone().webp({ lossless: true }).toBuffer() },
    { name: 'noisy jpeg', bytes: await noise(120, 90).jpeg().toBuffer() },
  ]
  const [jpeg, , , webp] = images
  const truncated = images.flatMap(({ name, bytes }) =>
    Array.from({ length: 24 }, (_, index) => ({
      name: `${name}, ${index + 1} of 25 parts`,
      bytes: bytes.subarray(0, Math.floor((bytes.length * (index + 1)) / 25)),
    })),
  )
  const random = seededRandom(testSeed(7))
  const damaged = images.flatMap(({ name, bytes }) =>
    Array.from({ length: 45 }, (_, index) => {
      const copy = Buffer.from(bytes)
      for (let flips = 0; flips <= index; flips++) copy[random.below(copy.length)] = random.below(256)
      return { name: `${name} with ${index + 1} bytes changed`, bytes: copy }
    }),
  )
  const empty = Buffer.alloc(0)
  return [
    ...(await otherFormats()),
    ...bombs(jpeg?.bytes ?? empty, webp?.bytes ?? empty),
    ...polyglots(images),
    ...truncated,
    ...damaged,
  ]
}
