// `rowhouse functions` and `rowhouse serve` with the embedded database: from a new function to its answer, and after a change.
import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { folderWith, writeFiles } from '../../support/function-server.ts'
import { main, startProgram } from '../../support/program.ts'
import { readmeSection } from '../../support/readme-section.ts'
import { until } from '../../support/until.ts'

const folder = await folderWith(t, {})
await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(folder, 'node_modules'))
const env = { DATA_DIR: join(folder, '.data'), FUNCTIONS_DIR: join(folder, 'functions') }

type Ran = { readonly code: number; readonly out: string; readonly err: string }

const functions = (...args: readonly string[]): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...env } }
    execFile(process.execPath, [main, 'functions', ...args], options, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    )
  })

t.test('without a folder', async (t) => {
  t.match(await functions('new', '1st'), { code: 1, err: /"1st" is no name of a function/ })
  t.match(await functions('new', '../up'), { code: 1, err: /is no name of a function/ })
  t.match(await functions(), { code: 1, err: /FUNCTIONS_DIR: there is no folder/ })
})

t.test('a new function, listed', async (t) => {
  t.match(await functions('new', 'greet'), { code: 0, out: /^Wrote functions\/greet\/index\.ts\./ })
  t.match(await functions('new', 'greet'), { code: 1, err: /There is a function of this name/ })
  t.match(await functions(), {
    code: 0,
    out: /NAME +FILE +TOKEN +COMPILES\ngreet +functions\/greet\/index\.ts +required +yes\n/,
  })
  await writeFiles(folder, {
    'functions/broken/index.ts': "import { z } from 'npm:not-installed-anywhere'\nDeno.serve(() => new Response(z))",
    'config.toml': '[functions.greet]\nverify_jwt = false',
  })
  const listed = await functions('--json')
  t.equal(listed.code, 1)
  t.match(JSON.parse(listed.out), {
    functions: [
      { name: 'broken', verifyJwt: true, fault: /npm install not-installed-anywhere/ },
      { name: 'greet', verifyJwt: false, fault: null },
    ],
  })
  await writeFiles(folder, { 'config.toml': '' })
})

t.test('served, called, changed and logged', async (t) => {
  await writeFiles(folder, { 'functions/hello/index.ts': readmeSection('functions-hello').replace(/^```.*$/gm, '') })
  const program = startProgram(t, { ...env, GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  await program.line(({ event }) => event === 'listening')
  t.ok(await until(async () => (await functions('call', 'greet', '--url', program.url())).code !== 2))
  const call = (...args: readonly string[]): Promise<Ran> => functions('call', ...args, '--url', program.url())
  t.ok(await until(async () => !(await call('greet')).err.includes('Specify an API key')), 'the keys are there')
  t.strictSame(await call('greet', '--data', '{"name":"Ada"}'), { code: 0, out: '{"message":"Hello Ada!"}\n', err: '' })
  t.match(await call('hello', '--data', '{"name":"Ada"}', '--json'), { code: 0 })
  t.match(await call('nothing'), { code: 1, out: /NOT_FOUND/, err: /^404 Not Found/ })
  t.match(await call('broken'), { code: 1, out: /BOOT_ERROR/ })
  const keys = JSON.stringify(await call('greet', '--key', 'sb_secret_forged'))
  t.match(keys, /Invalid JWT/)

  await writeFiles(folder, {
    'functions/greet/index.ts': "Deno.serve(() => { console.log('called again'); return new Response('changed') })",
  })
  t.equal((await call('greet')).out, 'changed\n', 'the next call runs the new code')
  t.ok(await program.line(({ event, msg }) => event === 'function' && msg === '[greet] called again'))
  t.ok(
    await program.line(
      ({ event, msg }) => event === 'function' && String(msg).includes('npm install not-installed-anywhere'),
    ),
    'the log says what to install',
  )

  const logs = (name: string, ...args: readonly string[]): Promise<Ran> =>
    functions('logs', name, '--url', program.url(), ...args)
  t.match(await logs('greet'), { code: 0, out: /^[\d-]{10}T\S+Z info {2}[\w-]+ called again\n$/m, err: '' })
  t.match(JSON.parse((await logs('broken', '--json')).out), {
    missing: 0,
    lines: [{ level: 'error', message: /npm install not-installed-anywhere/ }],
  })
  t.match(await logs('hello'), { code: 0, out: /^hello has logged nothing/ })
  t.match(await logs('../../session'), { code: 1, err: /does not show logs \(404/ })
  const nowhere = await functions('logs', 'greet', '--url', 'http://127.0.0.1:1')
  t.match(nowhere, { code: 1, err: /^http:\/\/127\.0\.0\.1:1 cannot be reached/ })
})
