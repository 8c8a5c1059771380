// The files of functions: what is found, what is wrong with them, and what follows from changes while calls run.
import { rm, symlink, utimes } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { findFunctions } from '../../server/config/project.ts'
import { readFunctionProject, type FunctionProject } from '../../server/services/functions/function-project.ts'
import { folderWith, startFunctionServer, writeFiles, type Files } from '../support/function-server.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const read = async (t: Test, files: Files, env: Record<string, string> = {}): Promise<FunctionProject> => {
  const workingFolder = await folderWith(t, files)
  return readFunctionProject({ folder: join(workingFolder, 'supabase/functions'), workingFolder, env })
}

/** Paths are relative to the working folder. */
const named = ({ functions, root }: FunctionProject): unknown =>
  [...functions.values()].map(({ name, entrypoint, importMap, verifyJwt }) => [
    name,
    relative(root, entrypoint),
    importMap === undefined ? undefined : relative(root, importMap),
    verifyJwt,
  ])

t.test('folders, entry files, import maps and config.toml', async (t) => {
  const project = await read(
    t,
    {
      'supabase/functions/b/index.ts': '',
      'supabase/functions/b/index.js': '',
      'supabase/functions/b/deno.json': '{}',
      'supabase/functions/a-1/index.mjs': '',
      'supabase/functions/a-1/deep/index.ts': '',
      'supabase/functions/page/index.tsx': '',
      'supabase/functions/_shared/index.ts': '',
      'supabase/functions/no-entry/main.ts': '',
      'supabase/functions/2nd/index.ts': '',
      'supabase/functions/off/index.ts': '',
      'supabase/functions/node_modules/x/index.ts': '',
      'supabase/functions/.hidden/index.ts': '',
      'supabase/functions/index.ts': '',
      'supabase/functions/import_map.json': '{}',
      'supabase/own/start.ts': '',
      'supabase/own/map.json': '{}',
      'supabase/config.toml': `
[functions.off]
enabled = false
[functions.page]
verify_jwt = false
import_map = ""
[functions.elsewhere]
entrypoint = "./own/start.ts"
import_map = "./own/map.json"
[functions.gone]
verify_jwt = false
[edge_runtime.secrets]
A = "env(OUTSIDE)"
B = "text"
C = "env(UNSET)"
`,
      'supabase/functions/.env': 'B=from env\n# comment\nexport D="x # y"\nSUPABASE_URL=http://other',
    },
    { OUTSIDE: 'of the server' },
  )
  t.strictSame(named(project), [
    ['a-1', 'supabase/functions/a-1/index.mjs', 'supabase/functions/import_map.json', true],
    ['b', 'supabase/functions/b/index.ts', 'supabase/functions/b/deno.json', true],
    ['elsewhere', 'supabase/own/start.ts', 'supabase/own/map.json', true],
    ['page', 'supabase/functions/page/index.tsx', 'supabase/functions/import_map.json', false],
  ])
  t.strictSame(project.environment, { A: 'of the server', B: 'from env', D: 'x # y' })
  t.match(project.notes.join('\n'), /SUPABASE_URL is left out[^]*2nd is no name[^]*function gone[^]*has no file/)
})

t.test('what is wrong is named', async (t) => {
  const faults: readonly (readonly [config: string, message: RegExp])[] = [
    ['[functions.a', /config\.toml:1:\d+: /],
    ['functions = 3', /functions is a section: \[functions\]/],
    ['[functions]\na = 1', /functions\.a is a section/],
    ['[functions.a]\nverify_jwt = "no"', /verify_jwt in \[functions\.a\] is true or false/],
    ['[functions.a]\nentrypoint = 1', /entrypoint in \[functions\.a\] is a path/],
    ['[functions.a]\nentrypoint = "../../outside.ts"', /entrypoint of a is outside of the folder/],
    ['[edge_runtime.secrets]\nA = 1', /A in \[edge_runtime\.secrets\] is a text/],
  ]
  for (const [config, message] of faults) {
    await t.rejects(
      read(t, { 'supabase/functions/a/index.ts': '', 'supabase/config.toml': config }),
      { name: 'FunctionProjectError', message },
      config,
    )
  }
})

t.test('the version changes with files only', async (t) => {
  const workingFolder = await folderWith(t, { 'functions/a/index.ts': '1', 'functions/_x/y.ts': '1' })
  const folder = join(workingFolder, 'functions')
  const version = async (): Promise<string> => (await readFunctionProject({ folder, workingFolder, env: {} })).version
  const first = await version()
  t.equal(await version(), first)
  await utimes(join(folder, '_x/y.ts'), 1, 1)
  const second = await version()
  t.not(second, first)
  await writeFiles(folder, { '.env': 'A=1' })
  t.not(await version(), second)
})

t.test('a loop of links ends', async (t) => {
  const workingFolder = await folderWith(t, { 'functions/a/index.ts': '' })
  const folder = join(workingFolder, 'functions')
  await symlink(folder, join(folder, 'a', 'loop'))
  await symlink(folder, join(folder, 'loop'))
  const { functions } = await readFunctionProject({ folder, workingFolder, env: {} })
  t.strictSame([...functions.keys()], ['a'])
})

t.test('the folder of the settings, or the usual one', async (t) => {
  const both = await folderWith(t, { 'functions/a/index.ts': '', 'supabase/functions/a/index.ts': '' })
  await t.rejects(
    findFunctions(null, both),
    /two folders of functions, functions and supabase.functions: set FUNCTIONS_DIR/,
  )
  t.equal(await findFunctions('functions', both), join(both, 'functions'))
  t.equal(await findFunctions('none', both), undefined)
  await t.rejects(findFunctions('gone', both), /FUNCTIONS_DIR: there is no folder gone/)
  t.equal(await findFunctions(null, await folderWith(t, {})), undefined)
})

const answering = (text: string): string => `Deno.serve(() => new Response('${text}'))`

t.test('a reload lets calls in progress end, and keeps functions whose files cannot be read', async (t) => {
  const folder = await folderWith(t, {
    'functions/a/index.ts': `Deno.serve(async (request) => {
      if (request.url.endsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 1500))
      return new Response('one')
    })`,
    'functions/b/index.ts': answering('b'),
  })
  const functions = join(folder, 'functions')
  const { url, reload, logged } = await startFunctionServer(t, { FUNCTIONS_DIR: functions })
  const headers = { authorization: await bearer('anon') }
  const ask = async (name: string): Promise<string> => (await fetch(`${url}/functions/v1/${name}`, { headers })).text()
  t.equal(await ask('a'), 'one')
  const slow = ask('a/slow')
  await writeFiles(functions, { 'a/index.ts': answering('number two'), 'c/index.ts': answering('c') })
  await rm(join(functions, 'b'), { recursive: true })
  t.equal(await ask('a'), 'one', 'in production, nothing changes by itself')
  await reload({})
  t.equal(await ask('a'), 'number two')
  t.equal(await ask('c'), 'c')
  t.match(await ask('b'), 'NOT_FOUND')
  t.equal(await slow, 'one')

  await writeFiles(folder, { 'config.toml': '[functions.a]\nverify_jwt = 3' })
  await reload({})
  t.equal(await ask('a'), 'number two')
  t.ok(await until(() => logged().some((line) => JSON.stringify(line).includes('verify_jwt in [functions.a]'))))

  await writeFiles(functions, { 'a/index.ts': 'this is no TypeScript(' })
  await rm(join(folder, 'config.toml'))
  await reload({})
  t.match(await ask('a'), 'BOOT_ERROR')
  t.ok(
    await until(() => logged().some(({ msg }) => /^\[a\] .*index\.ts:1:/s.test(String(msg)))),
    'the log has the line',
  )
})

t.test('keys and tokens', async (t) => {
  const folder = await folderWith(t, {
    'functions/env/index.ts': 'Deno.serve(() => Response.json(Deno.env.toObject()))',
  })
  const { url, reload } = await startFunctionServer(t, { FUNCTIONS_DIR: join(folder, 'functions') })
  const headers = { authorization: await bearer('anon') }
  const environment = async (): Promise<Record<string, string>> =>
    (await (await fetch(`${url}/functions/v1/env`, { headers })).json()) as Record<string, string>
  const signed = await environment()
  const claims = (token = ''): unknown => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  t.match(claims(signed.SUPABASE_ANON_KEY), { role: 'anon', iss: 'rowhouse' })
  t.match(claims(signed.SUPABASE_SERVICE_ROLE_KEY), { role: 'service_role' })
  t.equal((await environment()).SUPABASE_ANON_KEY, signed.SUPABASE_ANON_KEY, 'the same for all calls')
  const asService = await fetch(`${url}/functions/v1/env`, {
    headers: { authorization: `Bearer ${signed.SUPABASE_SERVICE_ROLE_KEY}` },
  })
  t.equal(asService.status, 200, 'functions call functions')
  await reload({
    FUNCTIONS_ANON_KEY: 'sb_publishable_x',
    FUNCTIONS_SERVICE_ROLE_KEY: 'sb_secret_x',
    FUNCTIONS_DATABASE_URL: 'postgresql://functions@db/postgres',
  })
  t.match(await environment(), {
    SUPABASE_ANON_KEY: 'sb_publishable_x',
    SUPABASE_SERVICE_ROLE_KEY: 'sb_secret_x',
    SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}',
    SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
    SUPABASE_JWKS_URL: /^http:\/\/127\.0\.0\.1:\d+\/auth\/v1\/\.well-known\/jwks\.json$/,
    SUPABASE_DB_URL: 'postgresql://functions@db/postgres',
  })
})
