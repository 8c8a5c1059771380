// One file with the modules of the service, and one with tap, so that a test reads two files instead of a thousand. Loading
// modules one by one takes more processor time than most tests. `typescript-hooks.mjs` resolves imports to these files.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = fileURLToPath(new URL('../../node_modules/.cache/rowhouse-tests/', import.meta.url))
/** The service, and the routes that it loads later. */
const entries = [
  'running/service',
  'services/auth/auth-table',
  'services/storage/storage-table',
  'services/analysis/analysis-routes',
  'services/console/console-table',
]
const imports = entries.map((entry) => `import './server/${entry}.ts'`).join('\n')

/** What the hooks read: the bundle, and of each of its modules the stamp of the file and the exported names. */
export type Manifest = {
  readonly bundle: string
  readonly modules: Readonly<Record<string, { readonly stamp: string; readonly exports: readonly string[] }>>
}

/** A bundled module still finds its neighbours, and what it imports later is loaded as in a test without the bundle. */
const asIfAlone: Plugin = {
  name: 'as-if-alone',
  setup: (builder) => {
    builder.onResolve({ filter: /^\./ }, ({ kind, path, importer }) =>
      kind === 'dynamic-import' ? { path: new URL(path, pathToFileURL(importer)).href, external: true } : undefined,
    )
    builder.onLoad({ filter: /\.[mc]?[jt]s$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const contents = source.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      return { loader: path.endsWith('ts') ? 'ts' : 'js', contents }
    })
  },
}

const shared = {
  absWorkingDir: root,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  metafile: true,
  write: false,
} as const

/** Changes when a file does. The hooks compare it. */
async function stampOf(file: string): Promise<string> {
  const { mtimeMs, size } = await stat(`${root}${file}`)
  return `${mtimeMs}-${size}`
}

/** Removes files of earlier bundles. */
async function removeBundles(name: RegExp): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const found of await readdir(folder)) if (name.test(found)) await rm(`${folder}${found}`)
}

/** Writes the bundle of tap, whose name says of which versions of packages and plugins it is. */
export async function bundleTap(): Promise<void> {
  await removeBundles(/^tap-/)
  await build({
    ...shared,
    stdin: { contents: `export * from 'tap'\nexport { default } from 'tap'`, resolveDir: root },
    packages: 'bundle',
    bundle: true,
    write: true,
    outfile: `${folder}tap-${await stampOf('node_modules/.package-lock.json')}-${await stampOf('.taprc')}.mjs`,
    alias: { 'async-hook-domain': './tests/support/error-domain.ts' },
    plugins: [asIfAlone],
    banner: {
      js: `import { createRequire as createRequireOfTap } from 'node:module'\nconst require = createRequireOfTap(import.meta.url)`,
    },
  })
}

/** Writes the bundle of what the entries import statically, and its manifest. */
export async function bundleServer(): Promise<void> {
  const found = await build({
    ...shared,
    stdin: { contents: imports, resolveDir: root },
    bundle: true,
    plugins: [asIfAlone],
  })
  const files = Object.keys(found.metafile.inputs).filter((file) => file.startsWith('server/'))
  const apart = await build({ ...shared, entryPoints: files, outdir: folder, outbase: '.' })
  const exportsOf = new Map(
    Object.values(apart.metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]),
  )
  const modules = await Promise.all(
    files.map(async (file) => {
      return [file, { stamp: await stampOf(file), exports: exportsOf.get(file) ?? [] }] as const
    }),
  )
  const contents = modules
    .map(([file, { exports }], number) =>
      exports.length === 0
        ? `import './${file}'`
        : `export { ${exports.map((name) => `${name} as m${number}_${name}`).join(', ')} } from './${file}'`,
    )
    .join('\n')
  const bundle = `${folder}server-${Date.now()}.mjs`
  const { outputFiles } = await build({
    ...shared,
    stdin: { contents: `${imports}\n${contents}`, resolveDir: root },
    bundle: true,
    // Without a source map, which takes each process half a second to read. Above each module is the name of its file.
    outfile: bundle,
    plugins: [asIfAlone],
  })
  await removeBundles(/^server-.*mjs/)
  for (const { path, contents } of outputFiles) await writeFile(path, contents)
  const manifest: Manifest = { bundle: pathToFileURL(bundle).href, modules: Object.fromEntries(modules) }
  await writeFile(`${folder}server.json.new`, JSON.stringify(manifest))
  await rename(`${folder}server.json.new`, `${folder}server.json`)
}
