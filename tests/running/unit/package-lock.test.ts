// `npm ci` refuses a lock file that lacks packages. npm leaves out optional ones, such as those of other platforms, without
// a warning if the registry does not have them at that moment.
import { readFile } from 'node:fs/promises'
import t from 'tap'

type Locked = {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly hasInstallScript?: boolean
}

const { packages } = JSON.parse(await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>
}

/** Whether a package that is installed at `path` finds the other one in its own folder or one above. */
function findsLocked(path: string, name: string): boolean {
  const parents = path.split('/node_modules/')
  const folders = parents.map((_, index) => parents.slice(0, index + 1).join('/node_modules/'))
  return [...folders, ''].some((folder) => `${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages)
}

t.test('the lock file has every dependency of every package, for all platforms', (t) => {
  const missing = Object.entries(packages).flatMap(([path, locked]) =>
    Object.keys({ ...locked.dependencies, ...locked.devDependencies, ...locked.optionalDependencies })
      .filter((name) => !findsLocked(path, name))
      .map((name) => `${path}: ${name}`),
  )
  t.strictSame(missing, [])
  t.end()
})

t.test('npm neither warns of its settings nor runs a script that downloads further libraries', async (t) => {
  const settings = await readFile(new URL('../../../.npmrc', import.meta.url), 'utf8')
  t.equal(settings, 'omit-lockfile-registry-resolved=true\n', 'npm 11 warns of each setting that is not its own')
  // `npm install` adds the member again when it updates the package: then remove it. Older versions of npm ignore `allowScripts`.
  t.notOk(packages['node_modules/onnxruntime-node']?.hasInstallScript, 'onnxruntime-node would download CUDA')
  const { allowScripts } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    readonly allowScripts: Readonly<Record<string, boolean>>
  }
  t.equal(allowScripts['onnxruntime-node'], false)
})
