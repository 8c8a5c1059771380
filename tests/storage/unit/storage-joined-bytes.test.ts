// The bytes of several versions as one stream.
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { joinByCopying, joinedBytes } from '../../../server/services/storage/joined-bytes.ts'
import { MissingBytesError, type ObjectKey } from '../../../server/services/storage/object-store.ts'
import { until } from '../../support/until.ts'

const keyOf = (name: string): ObjectKey => ({ bucket: 'b', name, version: '1' })
const keys = ['one', '', 'two'].map(keyOf)

/** Versions whose bytes are their names, in chunks of a byte; and an endless one. */
const opened: Readable[] = []
const get = ({ name }: ObjectKey): Promise<Readable> => {
  if (name === 'missing') return Promise.reject(new MissingBytesError())
  const version: Readable =
    name === 'endless'
      ? new Readable({ read: () => void version.push(Buffer.alloc(100_000)) })
      : Readable.from([...name].map((letter) => Buffer.from(letter)))
  opened.push(version)
  return Promise.resolve(version)
}
t.beforeEach(() => (opened.length = 0))

t.test('they come in order', async (t) => {
  t.equal((await buffer(joinedBytes(keys, get))).toString(), 'onetwo')
  t.equal((await buffer(joinedBytes([], get))).length, 0)
})

t.test('a missing version fails', async (t) => {
  await t.rejects(buffer(joinedBytes([keyOf('one'), keyOf('missing')], get)), { name: 'MissingBytesError' })
})

t.test('a store that fails leaves no version open', async (t) => {
  const put = async (_key: ObjectKey, source: Readable): Promise<never> => {
    await source.iterator({ destroyOnReturn: false }).next()
    throw new Error('the disk is full')
  }
  const options = { contentType: '', cacheControl: '', maxBytes: 10 }
  await t.rejects(joinByCopying({ get, put }, [keyOf('endless')], keyOf('to'), options), {
    message: 'the disk is full',
  })
  t.ok(await until(() => opened.length === 1 && opened[0]?.destroyed === true))
})
