// Checks of the catalog whose database fails or hangs.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { CatalogWatch, type CatalogWatchEvent } from '../../../server/rest/catalog-watch.ts'
import type { CatalogVersion } from '../../../server/catalogue/catalog-version.ts'

type Read = () => Promise<CatalogVersion>

/** A watch that checks every 10 ms. */
function watch(read: Read, loaded: CatalogVersion | undefined, isPending = false) {
  const events: CatalogWatchEvent[] = []
  const counts = { reads: 0, reloads: 0 }
  const cache = {
    catalogVersion: loaded,
    isPending,
    reload: () => {
      counts.reloads++
      return Promise.resolve()
    },
  }
  const database = {
    read: <T>() => {
      counts.reads++
      return read() as Promise<T>
    },
  }
  const watching = new CatalogWatch(database, cache, (event) => events.push(event))
  watching.follow({ dbReloadInterval: 0.01 })
  t.teardown(() => watching.stop())
  return { events, counts, cache, watching }
}

t.test('a failed check is reported, and the next one follows', async (t) => {
  const failure = new Error('gone')
  const { events, counts, watching } = watch(() => Promise.reject(failure), { a: '1' })
  while (events.length < 2) await pause(5)
  t.strictSame(events[0], { kind: 'catalog check failed', error: failure })
  t.equal(counts.reloads, 0)
  await watching.stop()
  const { reads } = counts
  watching.follow({ dbReloadInterval: 0.02 })
  await pause(60)
  t.equal(counts.reads, reads, 'nothing is checked after the end')
})

t.test('a check that hangs is the only one', async (t) => {
  let finish: (version: CatalogVersion) => void = () => undefined
  const { counts, watching } = watch(() => new Promise((resolve) => (finish = resolve)), { a: '1' })
  await pause(60)
  t.equal(counts.reads, 1)
  let isStopped = false
  const stopped = watching.stop().then(() => (isStopped = true))
  await pause(5)
  t.notOk(isStopped, 'its end is waited for')
  finish({ a: '1' })
  await stopped
})

t.test('the end of a check is waited for, although another interval is set meanwhile', async (t) => {
  let finish: (version: CatalogVersion) => void = () => undefined
  const { counts, watching } = watch(() => new Promise((resolve) => (finish = resolve)), { a: '1' })
  while (counts.reads === 0) await pause(5)
  watching.follow({ dbReloadInterval: 1000 })
  let isStopped = false
  const stopped = watching.stop().then(() => (isStopped = true))
  await pause(5)
  t.notOk(isStopped)
  finish({ a: '1' })
  await stopped
})

t.test('reloads if the version differs or is not known', async (t) => {
  const same = watch(() => Promise.resolve({ a: '1' }), { a: '1' })
  const changed = watch(() => Promise.resolve({ a: '1', b: null, c: '2' }), { a: '2', b: null })
  const unknown = watch(() => Promise.resolve({ a: '1' }), undefined)
  const failing = watch(() => Promise.resolve({ a: '1' }), undefined, true)
  while (changed.counts.reloads === 0 || unknown.counts.reloads === 0 || same.counts.reads === 0) await pause(5)
  t.strictSame(changed.events[0], { kind: 'catalog changed', catalogs: ['a', 'c'] })
  t.strictSame(unknown.events, [])
  t.equal(same.counts.reloads, 0)
  t.strictSame(failing.counts, { reads: 0, reloads: 0 }, 'a loader that retries is left alone')
})

t.test('no interval is longer than a timer can wait', async (t) => {
  const { counts, watching } = watch(() => Promise.resolve({ a: '1' }), { a: '1' })
  watching.follow({ dbReloadInterval: 1e9 })
  const { reads } = counts
  await pause(50)
  t.ok(counts.reads <= reads + 1)
})
