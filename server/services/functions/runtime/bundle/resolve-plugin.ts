// Resolves what functions import: files of the project become part of the bundle, installed packages are imported from their place.
import { readFile, realpath } from 'node:fs/promises'
import { dirname, extname, isAbsolute, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Loader, OnLoadResult, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild'
import type { FunctionSource } from '../function-source.ts'
import type { ImportMap } from './import-map.ts'
import { installedPackage, isVersionInRange, type InstalledPackage } from './installed-package.ts'
import { parseSpecifier, type Specifier } from './specifier.ts'

/** The name by which the compiled code knows `import.meta` of a file. */
export const importMeta = 'rowhouseImportMeta'

const loaders: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
  '.jsx': 'jsx',
}

/** Files of packages that Node.js runs as they are. Others, such as JSON and the TypeScript of a linked package, are compiled. */
const runnable = new Set(['.js', '.mjs', '.cjs', '.node', ''])

/** Marks what the plugin resolves itself by the rules of esbuild, which are those of Node.js. */
const byDefault = Symbol('by default')

const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

type Resolver = {
  readonly build: PluginBuild
  readonly root: string
  readonly importMap: ImportMap
  /** Receives the folders of packages that are not in `node_modules`. */
  readonly linked: Set<string>
}

const byDefaultRules = (build: PluginBuild, path: string, { kind, importer, resolveDir }: OnResolveArgs) =>
  build.resolve(path, { kind, importer, resolveDir, pluginData: byDefault })

async function resolveFile(resolver: Resolver, path: string, args: OnResolveArgs): Promise<OnResolveResult> {
  const result = await byDefaultRules(resolver.build, path.startsWith('file:') ? fileURLToPath(path) : path, args)
  if (result.errors.length > 0) return { errors: [{ text: `There is no file "${args.path}"` }] }
  // The compiler has resolved symbolic links.
  if (isWithin(resolver.root, result.path)) return { path: result.path }
  return { errors: [{ text: `"${args.path}" is outside of the project, whose folder is ${resolver.root}` }] }
}

/** Says that another version is installed than the function asks for. */
const versionWarnings = (specifier: string, { version }: InstalledPackage, range: string, install: string) =>
  isVersionInRange(version, range)
    ? []
    : [{ text: `"${specifier}" runs with version ${version}, which is installed. If it should not: ${install}` }]

async function resolvePackage(
  { build, linked }: Resolver,
  { candidates, install, range }: Extract<Specifier, { kind: 'package' }>,
  args: OnResolveArgs,
): Promise<OnResolveResult> {
  for (const candidate of candidates) {
    const { path, external, errors, sideEffects } = await byDefaultRules(build, candidate, args)
    if (errors.length > 0) continue
    const installed = isAbsolute(path) ? installedPackage(path) : undefined
    const warnings = installed && range !== undefined ? versionWarnings(args.path, installed, range, install) : []
    if (!external && !runnable.has(extname(path))) return { path, sideEffects, warnings }
    if (installed && !path.includes(`${sep}node_modules${sep}`)) linked.add(installed.folder)
    return { path: isAbsolute(path) ? pathToFileURL(path).href : path, external: true, sideEffects, warnings }
  }
  return { errors: [{ text: `The package of "${args.path}" is not installed, or has no such file. Run: ${install}` }] }
}

async function resolveImport(resolver: Resolver, args: OnResolveArgs): Promise<OnResolveResult> {
  const text = resolver.importMap.resolve(args.path, args.importer)
  const specifier = parseSpecifier(text)
  switch (specifier.kind) {
    case 'file':
      return resolveFile(resolver, specifier.path, args)
    case 'builtin':
      return { path: specifier.name, external: true }
    case 'package':
      return resolvePackage(resolver, specifier, args)
    case 'types':
      return { path: args.path, namespace: 'types' }
    case 'standard server':
      return { path: args.path, namespace: 'standard-server' }
    case 'unknown':
      return {
        errors: [
          { text: `Cannot import "${args.path}"${text === args.path ? '' : ` (${text})`}: ${specifier.reason}` },
        ],
      }
    default:
      return specifier satisfies never
  }
}

/** `serve(handler, options)` as of the standard library. */
const standardServer = 'export const serve = (handler, options) => Deno.serve(options ?? {}, handler).finished'

/** The code of a file with its `import.meta`, in its first line, so that the numbers of lines remain. */
async function loadFile(path: string, entrypoint: string): Promise<OnLoadResult | undefined> {
  const loader = loaders[extname(path)]
  if (loader === undefined) return undefined
  const text = await readFile(path, 'utf8')
  if (!text.includes('import.meta')) return { contents: text, loader }
  const value = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path), main: path === entrypoint }
  const meta = `const ${importMeta} = ${JSON.stringify(value)};`
  return { contents: `${meta}${text.replace(/^#!.*/, '')}`, loader }
}

/**
 * The plugin of esbuild for a function.
 *
 * @param linked receives the folders of packages that are not in `node_modules`, as of a project with several packages
 */
export const functionImports = (
  { root, entrypoint }: FunctionSource,
  importMap: ImportMap,
  linked: Set<string>,
): Plugin => ({
  name: 'functions',
  setup: async (build) => {
    const [realRoot, main] = await Promise.all([realpath(root), realpath(entrypoint)])
    const resolver: Resolver = { build, root: realRoot, importMap, linked }
    build.onResolve({ filter: /.*/ }, (args) =>
      args.kind === 'entry-point' || args.pluginData === byDefault ? undefined : resolveImport(resolver, args),
    )
    build.onLoad({ filter: /.*/, namespace: 'types' }, () => ({ contents: '' }))
    build.onLoad({ filter: /.*/, namespace: 'standard-server' }, () => ({ contents: standardServer }))
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => loadFile(path, main))
  },
})
