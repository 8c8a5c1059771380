// The bill of materials of an installation, as npm writes it.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { manifest } from './installation.ts'

type Component = {
  readonly name: string
  readonly version: string
  readonly purl?: string
  readonly licenses?: readonly unknown[]
  readonly hashes?: readonly unknown[]
}

type Bill = { readonly bomFormat: string; readonly components: readonly Component[] }

/** The packages that npm has installed in a folder, as `name@version`. */
async function installedPackages(place: string): Promise<readonly string[]> {
  const { packages } = JSON.parse(await readFile(join(place, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly name?: string }>>
  }
  return Object.entries(packages).map(
    ([path, { version, name }]) => `${name ?? path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
  )
}

/**
 * What is wrong with a bill: packages that it lacks, and components without package URL, license or hash.
 *
 * @param text the bill as JSON
 * @param place where its packages are installed; undefined to require the dependencies of the program only
 */
export async function faultsOfBill(text: string, place?: string): Promise<readonly string[]> {
  const { bomFormat, components } = JSON.parse(text) as Bill
  if (bomFormat !== 'CycloneDX') return [`its format is ${bomFormat}`]
  const names = new Set(components.flatMap(({ name, version }) => [name, `${name}@${version}`]))
  const required = place === undefined ? Object.keys(manifest.dependencies) : await installedPackages(place)
  const isComplete = ({ purl, licenses, hashes }: Component): boolean =>
    purl?.startsWith('pkg:npm/') === true && (licenses?.length ?? 0) > 0 && (hashes?.length ?? 0) > 0
  return [
    ...required.filter((name) => !names.has(name)).map((name) => `lacks ${name}`),
    // The package itself comes from a file.
    ...components.filter((it) => it.name !== 'rowhouse' && !isComplete(it)).map(({ name }) => `${name} is incomplete`),
  ]
}
