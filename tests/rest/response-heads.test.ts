// The bytes of responses on Node's server: which headers, in which order, in which spelling.
import t from 'tap'
import { createHeaderDatabase, rawResponses, startRawRest } from '../support/raw-rest.ts'
import { headRows } from '../tables/response-heads.ts'

const database = await createHeaderDatabase(t)
const urls = {
  plain: await startRawRest(t, database),
  all: await startRawRest(t, database, {
    serverTraceHeader: 'X-Trace',
    serverTimingEnabled: true,
    serverCorsAllowedOrigins: ['https://shop.test'],
    dbTxEnd: 'rollback-allow-override',
    clientErrorVerbosity: 'minimal',
    urlIgnoreTrailingText: false,
    urlUseLegacyTargetNames: true,
  }),
  down: await startRawRest(t, { ...database, uri: 'postgresql://127.0.0.1:1/x' }, { serverTraceHeader: 'Server' }),
}

t.test('responses as they are sent', async (t) => {
  for (const { label, on, request, requestBody, rest, head, body } of headRows) {
    const length = requestBody === undefined ? [] : [`Content-Length: ${Buffer.byteLength(requestBody)}`]
    const text = [...request, ...length, '', requestBody ?? ''].join('\r\n')
    const received = await rawResponses(urls[on], text, rest)
    const wanted = `${head.join('\r\n')}\r\n\r\n${body}`
    const following = received.slice(wanted.length)
    t.strictSame(received.slice(0, wanted.length).split('\r\n'), wanted.split('\r\n'), label)
    t.match(following, following === '' ? '' : /^HTTP\/1\.1 \d{3} /, `${label}: nothing more`)
  }
})
