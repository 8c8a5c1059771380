// The disk with the temporary files runs full: functions that are compiled go on, others say why they cannot start, and all
// goes on as soon as there is space. Mounts a small file system, which takes root on Linux.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { folderWith, startFunctionServer, writeFiles } from '../support/function-server.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

const parent = await mkdtemp(join(tmpdir(), 'rowhouse-full-'))
const disk = join(parent, 'disk')
await mkdir(disk)
await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk])
t.teardown(async () => {
  await run('umount', ['-l', disk])
  await rm(parent, { recursive: true, force: true })
})

const answering = (text: string): string => `Deno.serve(() => new Response('${text}'))`
const functions = await folderWith(t, {
  'first/index.ts': answering('first'),
  'second/index.ts': answering('second'),
})
// The functions' own folder is on another disk.
process.env.TMPDIR = disk
const { url, logged, database } = await startFunctionServer(t, { FUNCTIONS_DIR: functions, ROWHOUSE_EMBEDDED: 'true' })
const authorization = await bearer('authenticated')
const ask = async (name: string): Promise<readonly [number, string]> => {
  const response = await fetch(`${url}/functions/v1/${name}`, { headers: { authorization } })
  return [response.status, await response.text()]
}
const answers = (name: string, text: string): Promise<boolean> =>
  until(async () => {
    const [status, body] = await ask(name)
    return status === 200 && body === text
  })

const filler = join(disk, 'filler')
const fill = async (): Promise<void> => {
  for (let size = 8 * 2 ** 20; size >= 1; size = Math.floor(size / 2)) {
    await writeFile(filler, Buffer.alloc(size), { flag: 'a' }).catch(() => undefined)
  }
}
const empty = (): Promise<void> => rm(filler)
const folders = async (): Promise<string[]> => (await readdir(disk)).filter((name) => name !== 'filler')

t.test('before the first call', async (t) => {
  await fill()
  for (let attempt = 0; attempt < 3; attempt++) {
    const [status, body] = await ask('first')
    t.equal(status, 503)
    t.match(body, /BOOT_ERROR/)
    t.notMatch(body, disk, 'paths are for the log')
  }
  t.match(JSON.stringify(logged()), /ENOSPC: no space left on device/)
  t.strictSame(await folders(), [], 'attempts leave nothing')
  t.equal((await fetch(`${url}/rest/v1/`)).status < 500, true, 'the rest of the server goes on')
  await empty()
  t.ok(await answers('first', 'first'))
})

t.test('while functions run', async (t) => {
  await fill()
  t.strictSame(await ask('first'), [200, 'first'], 'what is compiled goes on')
  t.match(await ask('second'), [503, /BOOT_ERROR/])
  // Larger than what the code before takes, which is removed.
  const changed = 'changed'.padEnd(100_000, '.')
  await writeFiles(functions, { 'first/index.ts': answering(changed) })
  t.ok(await until(async () => (await ask('first'))[0] === 503), 'what is changed says so')
  await empty()
  t.ok(await answers('first', changed))
  t.ok(await answers('second', 'second'))
})

t.test('after the system has removed temporary files', async (t) => {
  for (const name of await folders()) await rm(join(disk, name), { recursive: true })
  await fill()
  await writeFiles(functions, { 'second/index.ts': answering('again') })
  t.ok(await until(async () => (await ask('second'))[0] === 503))
  await empty()
  t.ok(await answers('second', 'again'), 'no half of a program is left')
})

t.test('the database has noticed nothing', async (t) => {
  t.match((await database.query('select 1 as one')).rows, [{ one: 1 }])
})
