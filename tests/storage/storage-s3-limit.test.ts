// An upload that S3 does not get whole: the client is told why, on a connection that goes on.
import t from 'tap'
import { s3Credentials, startS3 } from '../support/s3-server.ts'
import { startStorageService } from '../support/storage.ts'

Object.assign(process.env, s3Credentials)
const s3 = await startS3(t)
const { ask } = await startStorageService(t, {
  STORAGE_BACKEND: 's3',
  STORAGE_S3_BUCKET: s3.bucket,
  STORAGE_S3_ENDPOINT: s3.endpoint,
})
await ask('POST', '/bucket', { as: 'service_role', body: { name: 'small', file_size_limit: 100_000 } })

/** A body without a length, which is refused while it arrives. */
const chunked = (bytes: number): ReadableStream<Uint8Array> => {
  let left = bytes
  return new ReadableStream({
    pull: (controller) => {
      if (left <= 0) controller.close()
      else controller.enqueue(new Uint8Array(Math.min(left, 20_000)))
      left -= 20_000
    },
  })
}

t.test('a chunked upload above the limit', async (t) => {
  const upload = (bytes: number) =>
    ask('POST', `/object/small/${bytes}.bin`, {
      as: 'service_role',
      body: chunked(bytes),
      headers: { 'Content-Type': 'application/octet-stream' },
    })
  const refused = await upload(400_000)
  t.match([refused.status, refused.json], [400, { statusCode: '413', message: /maximum allowed size/ }], refused.text)
  t.equal((await ask('HEAD', '/object/small/400000.bin', { as: 'service_role' })).status, 400, 'nothing is kept')
  t.equal((await upload(90_000)).status, 200)
  t.equal((await ask('GET', '/object/small/90000.bin', { as: 'service_role' })).bytes.length, 90_000)
})
