// The unit of the README, checked by systemd-analyze, and run by a systemd of its own in new namespaces.
import { execFileSync, spawn } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import { readmeSection } from '../../support/readme-section.ts'
import { installPackages, plainEnvironment, respondsOk, run, secrets, type Installation } from './installation.ts'
import { installTarball, packTarball } from './package.ts'

/** Exposure by `systemd-analyze security`, times ten: 10 is 1.0 ("OK" begins at 2.0). */
const maxExposure = 20

/**
 * Mounts the root folder of this machine below `$1`, with changes in `$2`, and runs systemd there as process 1. It has
 * process ids, mounts and control groups of its own, but shares the network.
 */
const startSystemd = `set -e
mount -t overlay overlay -o "lowerdir=/,upperdir=$2/upper,workdir=$2/work" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
exec chroot "$1" env -i container=chroot PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd \
  --system --unit=rowhouse.target --log-target=null --show-status=no`

export async function checkSystemd(installation: Installation): Promise<void> {
  const { folder, check, database, atEnd } = installation
  await installPackages({ 'systemd-analyze': 'systemd', unshare: 'util-linux' })
  const unit = readmeSection('systemd').trim()
  const files = join(folder, 'upper')
  const units = join(files, 'etc/systemd/system')
  const opt = join(files, 'opt/rowhouse')
  const configuration = join(files, 'etc/rowhouse')
  for (const path of [units, opt, configuration, join(folder, 'work'), join(folder, 'root')]) {
    await mkdir(path, { recursive: true })
  }
  const place = await installTarball(folder, await packTarball(folder))
  await cp(place, opt, { recursive: true, verbatimSymlinks: true })
  await mkdir(join(files, 'usr/bin'), { recursive: true })
  await cp(process.execPath, join(files, 'usr/bin/node'))

  const file = join(folder, 'rowhouse.service')
  await writeFile(file, `${unit}\n`)
  const verified = await run('systemd-analyze', ['verify', '--man=no', file]).catch(
    (error: { stderr: string }) => error,
  )
  // Its root folder is the machine's, where the program is not installed.
  const complaints = verified.stderr
    .split('\n')
    .filter((line) => line.includes(file) && !line.includes('not executable'))
  check(complaints.length === 0, `systemd-analyze verify ${complaints.join()}`)
  const options = ['security', '--offline=true', `--threshold=${maxExposure}`, '--no-pager', file]
  const security = await run('systemd-analyze', options).then(
    ({ stdout }) => ({ isBelow: true, stdout }),
    (error: { stdout: string }) => ({ isBelow: false, stdout: error.stdout }),
  )
  check(security.isBelow, `systemd-analyze security: ${security.stdout.trim().split('\n').at(-1)}`)

  const { MIGRATION_DATABASE_URL, DATABASE_URL } = await database()
  const port = await freePort()
  const migrate = [join(place, 'node_modules/.bin/rowhouse'), 'migrate']
  await run(process.execPath, migrate, { env: { ...plainEnvironment, MIGRATION_DATABASE_URL, DATABASE_URL } })
  const contents = {
    'database-url': DATABASE_URL,
    'jwt-secret': secrets.PGRST_JWT_SECRET,
    'session-secrets': secrets.SESSION_SECRETS,
  }
  for (const [name, text] of Object.entries(contents)) {
    await writeFile(join(configuration, name), `${text}\n`, { mode: 0o600 })
  }
  // A port that is free here, and no units of the machine.
  const added = `DefaultDependencies=no\n\n[Service]\nEnvironment=PORT=${port}\n`
  await writeFile(join(units, 'rowhouse.service'), unit.replace('\n[Service]\n', `\n${added}`))
  await writeFile(join(units, 'rowhouse.target'), '[Unit]\nDefaultDependencies=no\nWants=rowhouse.service\n')
  const args = ['--mount', '--pid', '--cgroup', '--ipc', '--uts', '--fork', '--kill-child', 'sh', '-c', startSystemd]
  const child = spawn('unshare', [...args, 'sh', join(folder, 'root'), folder], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = new Promise((resolve) => child.once('close', resolve))
  atEnd(() => {
    child.kill('SIGKILL')
    return ended
  })
  const url = `http://127.0.0.1:${port}`
  const serves = await respondsOk(`${url}/ready`, 90_000, () => child.exitCode !== null)
  const init = Number(execFileSync('pgrep', ['-P', String(child.pid)]).toString())
  const control = async (...words: readonly string[]): Promise<string> => {
    const inside = ['-t', String(init), '-m', '-p', '-C', '-r', '-w', 'systemctl', '--no-pager', ...words]
    return (await run('nsenter', inside).catch((error: { stdout: string }) => error)).stdout
  }
  check(serves, `systemd runs the unit ${serves ? '' : `${errors}${await control('status', 'rowhouse.service')}`}`)
  if (!serves) return
  const signup = await fetch(`${url}/auth/signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: 'ann@example.org', password: 'correct horse battery' }),
  })
  check(signup.status === 201, `its system calls suffice for hashing a password (${signup.status})`)
  const read = async (property: string): Promise<string> =>
    (await control('show', '--value', '-p', property, 'rowhouse.service')).trim()
  const pid = await read('MainPID')
  await control('reload', 'rowhouse.service')
  await pause(500)
  check((await read('MainPID')) === pid && (await respondsOk(`${url}/ready`, 5000)), 'a reload keeps the process')
  await control('restart', 'rowhouse.service')
  check(await respondsOk(`${url}/ready`, 60_000), 'a restart')
  const begun = performance.now()
  await control('stop', 'rowhouse.service')
  const state = [await read('ActiveState'), await read('Result'), await read('ExecMainStatus')].join()
  check(state === 'inactive,success,0', `a stop: ${state} after ${Math.round(performance.now() - begun)} ms`)
}
