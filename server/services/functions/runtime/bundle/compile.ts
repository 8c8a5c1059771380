// Compiles a function with its files to one file that Node.js runs.
//
// esbuild resolves imports, joins files, and knows JSX; it compiles a function in 9 ms after 60 ms for the first one (Node 20, on a
// busy machine). The compiler of TypeScript takes 750 ms for the first one and twice the memory, and leaves imports as they are;
// amaro, which Node.js itself uses, knows no JSX.
import { dirname, relative, resolve } from 'node:path'
import { readImportMap, emptyImportMap, type ImportMap } from './import-map.ts'
import type { BuildFailure, Message } from 'esbuild'
import { FunctionFailure } from '../function-failure.ts'
import type { FunctionSource } from '../function-source.ts'
import { functionImports, importMeta } from './resolve-plugin.ts'

/** Options of TypeScript that change the code. The others, and the project's own `tsconfig.json`, are of no use here. */
const compilerOptionNames = ['jsx', 'jsxFactory', 'jsxFragmentFactory', 'jsxImportSource', 'experimentalDecorators']

/** `index.ts:3:14: Expected ";"`, with the line of the file. */
const describeMessage = ({ text, location }: Message): string =>
  location === null
    ? text
    : `${location.file}:${location.line}:${location.column + 1}: ${text}\n    ${location.lineText.trim()}`

const isBuildFailure = (error: unknown): error is BuildFailure =>
  error instanceof Error && Array.isArray((error as Partial<BuildFailure>).errors)

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function importMapOf({ importMap, root }: FunctionSource): Promise<ImportMap> {
  if (importMap === undefined) return emptyImportMap
  try {
    return await readImportMap(importMap)
  } catch (error) {
    throw new FunctionFailure('boot', `${relative(root, importMap)}: ${textOf(error)}`)
  }
}

/** JSX by `deno.json`. Deno's `precompile` is a faster form of `react-jsx`. */
const typescriptOptions = ({ compilerOptions }: ImportMap): Record<string, unknown> => ({
  ...Object.fromEntries(compilerOptionNames.map((name) => [name, compilerOptions[name]])),
  ...(compilerOptions.jsx === 'precompile' && { jsx: 'react-jsx' }),
})

export type Compiled = {
  readonly code: string
  /** Folders of packages that are not in `node_modules`, as of a project with several packages. */
  readonly linked: readonly string[]
  /** What the owner should know though the function runs, such as a package of another version. */
  readonly warnings: readonly string[]
}

/**
 * Compiles a function. Installed packages are not included but imported from where they are.
 *
 * @param outfile path at which the code will be, for its source map
 * @throws FunctionFailure `boot` with file and line, or the package that is missing
 */
export async function compile(source: FunctionSource, outfile: string): Promise<Compiled> {
  const importMap = await importMapOf(source)
  // Takes 15 ms to load, which a server without functions should not pay.
  const { build } = await import('esbuild')
  const linked = new Set<string>()
  try {
    const { outputFiles, warnings } = await build({
      entryPoints: [source.entrypoint],
      outfile,
      absWorkingDir: resolve(source.root),
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      mainFields: ['main'],
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent',
      define: { 'import.meta': importMeta },
      tsconfigRaw: { compilerOptions: typescriptOptions(importMap) },
      plugins: [functionImports(source, importMap, linked)],
    })
    return { code: outputFiles[0]?.text ?? '', linked: [...linked], warnings: warnings.map(describeMessage) }
  } catch (error) {
    const detail = isBuildFailure(error) ? error.errors.map(describeMessage).join('\n') : textOf(error)
    throw new FunctionFailure('boot', detail)
  }
}

/**
 * Compiles the program of the workers, so that they load one file, from its sources as from the package.
 *
 * @param entrypoint path of the program
 */
export async function compileProgram(entrypoint: string): Promise<string> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [entrypoint],
    absWorkingDir: dirname(entrypoint),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfigRaw: {},
  })
  return outputFiles[0]?.text ?? ''
}
