// Parts of the README that tests run.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')

/** The text between the comments `<!-- name -->` and `<!-- /name -->`, without the fences of blocks of code. */
export function readmeSection(name: string): string {
  const [, text] = new RegExp(`<!-- ${name} -->([^]*?)<!-- /${name} -->`).exec(readme) ?? []
  if (text === undefined) throw new Error(`the README has no section ${name}`)
  return text.replace(/^ *```.*\n/gm, '')
}

/**
 * Runs a section as a shell script, and returns what it prints.
 *
 * @param adapt changes the text, for a server with another mount path
 */
export async function runSection(
  name: string,
  env: Readonly<Record<string, string>>,
  adapt: (text: string) => string = (text) => text,
): Promise<string> {
  const { PATH } = process.env
  const { stdout } = await run('/bin/sh', ['-e', '-c', adapt(readmeSection(name))], { env: { PATH, ...env } })
  return stdout
}

/** A section of JavaScript as an async function of the given names, which returns the values of the names it declares. */
export async function sectionFunction<Args extends readonly unknown[]>(
  name: string,
  parameters: { readonly [K in keyof Args]: string },
  returned: readonly string[] = [],
): Promise<(...args: Args) => Promise<Readonly<Record<string, unknown>>>> {
  const source = `export default async (${parameters.join()}) => { ${readmeSection(name)}; return { ${returned.join()} } }`
  const { default: section } = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (...args: Args) => Promise<Readonly<Record<string, unknown>>>
  }
  return section
}
