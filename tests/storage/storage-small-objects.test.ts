// Small objects from memory are the same as those from the store: generated requests to two services on one database
// and folder, of which one has no memory.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { askStorage, startStorageService, type StorageAnswer, type StorageCallerName } from '../support/storage.ts'

const alice = 'aaaaaaaa-0000-4000-8000-000000000001'
const bob = 'bbbbbbbb-0000-4000-8000-000000000002'

t.test('with and without memory, responses are the same', async (t) => {
  const { ask: remembering, database, folder } = await startStorageService(t, { STORAGE_MEMORY_CACHE: '100kb' })
  const plain = askStorage(
    (
      await startApplication(t, database.authenticatorUri, {
        STORAGE_FILE_BACKEND_PATH: folder,
        STORAGE_MEMORY_CACHE: '0',
      })
    ).url,
  )
  await database.query(
    `insert into storage.buckets (id, name, public) values ('open', 'open', true), ('closed', 'closed', false);
     create policy own on storage.objects for all to authenticated using ((storage.foldername(name))[1] = auth.uid()::text)`,
  )
  const { next, pick } = seededRandom(testSeed(16))
  const callers: readonly [StorageCallerName, ...StorageCallerName[]] = ['service_role', alice, bob, 'anon', undefined]
  const names = [`${alice}/a`, `${alice}/b`, `${bob}/a`, `${bob}/large`, 'shared'] as const
  const shown = ({ status, text, headers }: StorageAnswer): unknown => ({
    status,
    text,
    headers: Object.fromEntries([...headers].filter(([name]) => name !== 'date')),
  })
  let compared = 0
  let successes = 0
  for (let round = 0; round < 400; round++) {
    const path = `${pick(['open', 'closed'])}/${pick(names)}`
    const action = next()
    if (action < 0.15) {
      // Objects of the same size, whose bytes could be confused.
      const body = `${round} `.padEnd(path.endsWith('large') ? 70_000 : pick([10, 5000]), 'x')
      await pick([remembering, plain])('PUT', `/object/${path}`, { as: pick(callers), body })
    } else if (action < 0.2) {
      await pick([remembering, plain])('DELETE', `/object/${path}`, { as: pick(callers) })
    } else if (action < 0.23) {
      // What only SQL can do.
      const [bucket, name] = [path.slice(0, path.indexOf('/')), path.slice(path.indexOf('/') + 1)]
      const change = pick([
        'version = (select max(version) from storage.objects)',
        `metadata = metadata || '{"size": 3}'`,
        `metadata = metadata || '{"size": 60000}'`,
      ])
      await database.query(`update storage.objects set ${change} where bucket_id = $1 and name = $2`, [bucket, name])
    } else {
      const headers = pick<Record<string, string>>([
        {},
        {},
        { Range: 'bytes=1-5' },
        { Range: 'bytes=-7' },
        { 'If-None-Match': '"x"' },
      ])
      const request = { as: pick(callers), headers }
      const target = `${pick(['/object/', '/object/public/', '/object/authenticated/'])}${path}`
      const [one, other] = await Promise.all([remembering('GET', target, request), plain('GET', target, request)])
      compared += 1
      if (one.status < 300) successes += 1
      if (JSON.stringify(shown(one)) !== JSON.stringify(shown(other)))
        t.strictSame(shown(one), shown(other), `${round}: ${target}`)
    }
  }
  t.ok(compared > 200 && successes > 40, `${successes} of ${compared} reads found an object`)
})
