import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { sniffed } from '../../../server/services/storage/content-sniffing.ts'
import { StorageError } from '../../../server/services/storage/storage-error.ts'

const refusal = (type: string): string => `mime type ${type} is not that of the content, which is markup`

const outcome = async (type: string, pieces: readonly (string | Buffer)[]): Promise<string> => {
  try {
    return (await buffer(await sniffed(Readable.from(pieces.map((piece) => Buffer.from(piece))), type))).toString(
      'latin1',
    )
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    return `${error.statusCode} ${error.code}: ${error.message}`
  }
}

const pages = [
  '<!DOCTYPE html><html></html>',
  '<html>',
  '\n\t <HTML lang=en>',
  '\u{feff}<script>alert(1)</script>',
  '<svg xmlns="http://www.w3.org/2000/svg"/>',
  '<?xml version="1.0"?><svg/>',
  '<!-- a comment --><body>',
  '<iframe src="x">',
  '<a href="x">',
  '<p>',
]
const types = ['image/png', 'IMAGE/JPEG', 'image/webp; x=y', 'audio/mpeg', 'video/mp4', 'font/woff2', 'application/pdf']

t.test('markup is refused as an image, sound, video, font or document', async (t) => {
  for (const page of pages) t.equal(await outcome('image/png', [page]), `415 InvalidMimeType: ${refusal('image/png')}`)
  for (const type of types) t.equal(await outcome(type, ['<html>']), `415 InvalidMimeType: ${refusal(type)}`)
})

t.test('in pieces of any size', async (t) => {
  const [page = ''] = pages
  t.equal(await outcome('image/png', [...page]), `415 InvalidMimeType: ${refusal('image/png')}`)
  t.equal(await outcome('image/png', [' '.repeat(1000), '<ht', 'ml>']), `415 InvalidMimeType: ${refusal('image/png')}`)
})

t.test('other types may have any content', async (t) => {
  for (const type of ['text/plain', 'text/html', 'image/svg+xml', 'application/octet-stream', 'application/json']) {
    for (const page of pages) t.equal(await outcome(type, [page]), Buffer.from(page).toString('latin1'), type)
  }
})

t.test('bytes that are not markup pass whole', async (t) => {
  const contents = ['', 'x', '<', '<pre>', '<htm', '< html>', 'text <html>', '\u0089PNG\r\n\x1a\n', 'y'.repeat(5000)]
  for (const content of contents) {
    const text = Buffer.from(content).toString('latin1')
    t.equal(await outcome('image/png', [content]), text)
    t.equal(await outcome('image/png', content.match(/[^]{1,700}/g) ?? []), text)
  }
})

t.test('a stream that fails fails', async (t) => {
  const failing = (after: number): Readable =>
    Readable.from(
      (async function* () {
        for (let index = 0; index < after; index++) yield await Promise.resolve(Buffer.alloc(1000))
        throw new Error('the request broke off')
      })(),
    )
  for (const after of [0, 1, 4]) {
    await t.rejects(
      sniffed(failing(after), 'image/png').then(buffer),
      { message: 'the request broke off' },
      `after ${after} pieces`,
    )
  }
})
