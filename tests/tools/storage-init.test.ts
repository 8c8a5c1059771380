// `rowhouse storage init`: the migration of a first bucket, and what its policies allow.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Dependencies } from '../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../server/tools/command-line/program.ts'
import { startStorageService } from '../support/storage.ts'

const [ada, ben] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const

async function init(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const ran = { code: 0, out: '', err: '' }
  ran.code = await runProgram(['storage', 'init', ...args], {
    version: '1.2.3',
    print: (text: string) => void (ran.out += text),
    printError: (text: string) => void (ran.err += text),
    loadConfig: () => ({ migrationsDir: null }),
  } as unknown as Dependencies)
  return ran
}

t.test('each user has a folder', async (t) => {
  const { ask, database } = await startStorageService(t)
  for (const bucket of ['files', "it's; a bucket"]) {
    const { out } = await init(bucket)
    await database.query(out)
    const at = `/object/${encodeURIComponent(bucket)}`
    const text = { body: 'hello', headers: { 'Content-Type': 'text/plain' } }
    t.match(await ask('POST', `${at}/${ada}/a.txt`, { as: ada, ...text }), { status: 200 }, bucket)
    t.match(await ask('GET', `${at}/${ada}/a.txt`, { as: ada }), { status: 200, text: 'hello' })
    t.match(await ask('PUT', `${at}/${ada}/a.txt`, { as: ada, ...text }), { status: 200 })
    t.equal((await ask('GET', `${at}/${ada}/a.txt`, { as: ben })).status, 400, 'others see nothing')
    t.equal((await ask('GET', `${at}/${ada}/a.txt`, { as: 'anon' })).status, 400)
    t.match(await ask('POST', `${at}/${ada}/b.txt`, { as: ben, ...text }), { json: { message: /row-level security/ } })
    t.match(await ask('POST', `${at}/b.txt`, { as: ben, ...text }), { json: { message: /row-level security/ } })
    t.match(await ask('POST', `${at}/${ada}/c.txt`, { as: 'anon', ...text }), { json: { statusCode: '403' } })
    t.match((await ask('GET', `/bucket/${encodeURIComponent(bucket)}`, { as: ada })).json, {
      id: bucket,
      public: false,
    })
    t.match(await ask('DELETE', `${at}/${ada}/a.txt`, { as: ada }), { status: 200 })
  }
  await database.query((await init('pictures', '--public')).out)
  await ask('POST', `/object/pictures/${ada}/a.txt`, { as: ada, body: 'hello' })
  t.match(await ask('GET', `/object/public/pictures/${ada}/a.txt`), { status: 200, text: 'hello' })
})

t.test('it is printed, or written to a folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-storage-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  t.match(await init(), { code: 0, out: /^-- The bucket files: / })
  t.match(await init('avatars', '--public', '--write', folder), {
    code: 0,
    out: /^Wrote .*_bucket_avatars\.sql\. To apply it: rowhouse migrate\n$/,
  })
  const [file = ''] = await readdir(folder)
  t.equal(await readFile(join(folder, file), 'utf8'), (await init('avatars', '--public')).out)
  t.match(JSON.parse((await init('--json')).out), { sql: String })
  for (const wrong of ['', 'a/b', ' a', 'ä', 'a'.repeat(101), 'a\nb']) {
    t.match(await init(wrong), { code: 1, out: '', err: /cannot be the name of a bucket\. Allowed are/ }, wrong)
  }
})
