// Accept and Content-Type -> media types, and back.
import t from 'tap'
import { contentTypeOf, decodeMediaType, encodeMediaType, parseAccept } from '../../../server/rest/media-type.ts'
import type { MediaType } from '../../../server/rest/media-type.ts'

const plan = (format: 'json' | 'text', mediaType: MediaType, ...options: string[]) => ({
  kind: 'plan',
  for: mediaType,
  format,
  options,
})
const json: MediaType = { kind: 'json' }

t.test('decode', async (t) => {
  const rows: [string, object][] = [
    ['application/json', json],
    ['Application/JSON; charset=utf-8', json],
    ['application/geo+json', { kind: 'geojson' }],
    ['text/csv;header=present', { kind: 'csv' }],
    ['text/plain', { kind: 'text' }],
    ['text/xml', { kind: 'xml' }],
    ['application/openapi+json', { kind: 'openapi' }],
    ['application/x-www-form-urlencoded', { kind: 'urlencoded' }],
    ['application/octet-stream', { kind: 'octet-stream' }],
    ['*/*', { kind: 'any' }],
    ['application/vnd.pgrst.array+json', json],
    ['application/vnd.pgrst.array+json;nulls=stripped', { kind: 'array-json-strip' }],
    ['application/vnd.pgrst.array;nulls=stripped', { kind: 'array-json-strip' }],
    ['application/vnd.pgrst.object+json', { kind: 'single-json', stripNulls: false }],
    ['application/vnd.PgRsT.object', { kind: 'single-json', stripNulls: false }],
    ['application/vnd.pgrst.object+json;nulls=stripped', { kind: 'single-json', stripNulls: true }],
    ['application/vnd.pgrst.object+json ; NULLS = "stripped" ; x', { kind: 'single-json', stripNulls: true }],
    ['application/vnd.pgrst.object+json;nulls=x;nulls=stripped', { kind: 'single-json', stripNulls: true }],
    ['application/vnd.pgrst.object+json;x;nulls=stripped', { kind: 'single-json', stripNulls: false }],
    ['application/vnd.pgrst.object+json;nulls=Stripped', { kind: 'single-json', stripNulls: false }],
    ['application/vnd.pgrst.plan', plan('text', json)],
    ['application/vnd.pgrst.plan+text;', plan('text', json)],
    [
      'application/vnd.pgrst.plan+json; for="text/csv"; options=wal|analyze|x',
      plan('json', { kind: 'csv' }, 'analyze', 'wal'),
    ],
    [
      'application/vnd.pgrst.plan;for="application/vnd.pgrst.object+json;nulls=stripped";options=verbose|settings|buffers',
      plan('text', { kind: 'single-json', stripNulls: true }, 'verbose', 'settings', 'buffers'),
    ],
    ['application/vnd.pgrst.plan;for=text/csv;options=wal', plan('text', { kind: 'other', text: 'text' })],
    ['application/vnd.twkb', { kind: 'other', text: 'application/vnd.twkb' }],
    ['Text/HTML; level=1', { kind: 'other', text: 'Text/HTML; level=1' }],
    ['image', { kind: 'other', text: 'image' }],
    ['', { kind: 'other', text: '' }],
    ['__proto__', { kind: 'other', text: '__proto__' }],
  ]
  for (const [text, mediaType] of rows) t.strictSame(decodeMediaType(text), mediaType, text)
  t.equal(decodeMediaType(`application/vnd.pgrst.plan${' '.repeat(60_000)};${' '.repeat(60_000)}x`).kind, 'plan')
})

t.test('encode', async (t) => {
  const rows: [string, string, string][] = [
    ['application/json', 'application/json', 'application/json; charset=utf-8'],
    ['application/geo+json', 'application/geo+json', 'application/geo+json; charset=utf-8'],
    ['text/csv', 'text/csv', 'text/csv; charset=utf-8'],
    ['text/plain', 'text/plain', 'text/plain; charset=utf-8'],
    ['text/xml', 'text/xml', 'text/xml; charset=utf-8'],
    ['application/openapi+json', 'application/openapi+json', 'application/openapi+json; charset=utf-8'],
    [
      'application/x-www-form-urlencoded',
      'application/x-www-form-urlencoded',
      'application/x-www-form-urlencoded; charset=utf-8',
    ],
    ['application/octet-stream', 'application/octet-stream', 'application/octet-stream'],
    ['*/*', '*/*', '*/*; charset=utf-8'],
    ['image/png', 'image/png', 'image/png'],
    [
      'application/vnd.pgrst.array;nulls=stripped',
      'application/vnd.pgrst.array+json;nulls=stripped',
      'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8',
    ],
    [
      'application/vnd.pgrst.object',
      'application/vnd.pgrst.object+json',
      'application/vnd.pgrst.object+json; charset=utf-8',
    ],
    [
      'application/vnd.pgrst.plan+json;for="application/vnd.pgrst.object+json;nulls=stripped";options=wal|verbose',
      'application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json;nulls=stripped"; options=verbose|wal',
      'application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json;nulls=stripped"; options=verbose|wal; charset=utf-8',
    ],
    [
      'application/vnd.pgrst.plan',
      'application/vnd.pgrst.plan+text; for="application/json"',
      'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8',
    ],
  ]
  for (const [text, mime, contentType] of rows) {
    t.equal(encodeMediaType(decodeMediaType(text)), mime)
    t.equal(contentTypeOf(decodeMediaType(text)), contentType)
  }
})

t.test('accept', async (t) => {
  const rows: [string, string[]][] = [
    ['', []],
    ['text/csv', ['text/csv']],
    ['text/csv, application/json', ['text/csv', 'application/json']],
    ['text/csv;q=0.5, application/json', ['application/json', 'text/csv']],
    ['text/csv;q=0.5, application/json;q=0.9, */*;q=0.1', ['application/json', 'text/csv', '*/*']],
    ['*/*, text/csv', ['text/csv', '*/*']],
    ['text/html, text/html;level=1', ['text/html;level=1', 'text/html']],
    ['a/b;q=0, c/d;q=-1, e/f', ['e/f', 'a/b', 'c/d']],
    ['a/b;q=x, c/d;q=0.9, e/f;q=, g/h;q=.5', ['a/b', 'e/f', 'g/h', 'c/d']],
    ['a/b;q=1e1, c/d', ['a/b', 'c/d']],
    ['a/b; q=0.2, c/d', ['c/d', 'a/b']],
    ['a/b;q=0.7;v=1', ['a/b']],
    [',', ['', '']],
    [
      'application/vnd.pgrst.plan+json; for="text/csv"; options=wal, application/json',
      ['application/vnd.pgrst.plan+json; for="text/csv"; options=wal', 'application/json'],
    ],
  ]
  for (const [header, mimes] of rows) t.strictSame(parseAccept(header).map(encodeMediaType), mimes, header)
})
