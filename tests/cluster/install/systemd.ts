// The unit of the README, checked by systemd-analyze.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readmeSection } from '../../support/readme-section.ts'
import { installPackages, run, type Installation } from './installation.ts'

/** Exposure by `systemd-analyze security`, times ten. Below 5.0 is "OK". */
const maxExposure = 20

export async function checkSystemd({ folder, check }: Installation): Promise<void> {
  await installPackages({ 'systemd-analyze': 'systemd' })
  const file = join(folder, 'rowhouse.service')
  await writeFile(file, `${readmeSection('systemd').trim()}\n`)
  const verified = await run('systemd-analyze', ['verify', '--man=no', file]).catch(
    (error: { stderr: string }) => error,
  )
  // Units of the machine have complaints of their own.
  const complaints = verified.stderr.split('\n').filter((line) => line.includes('rowhouse.service'))
  check(complaints.length === 0, `systemd-analyze verify ${complaints.join()}`)
  const options = ['security', '--offline=true', `--threshold=${maxExposure}`, '--no-pager', file]
  const security = await run('systemd-analyze', options).then(
    ({ stdout }) => ({ isBelow: true, stdout }),
    (error: { stdout: string }) => ({ isBelow: false, stdout: error.stdout }),
  )
  check(security.isBelow, `systemd-analyze security: ${security.stdout.trim().split('\n').at(-1)}`)
}
