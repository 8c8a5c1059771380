// The hooks of `typescript.mjs`. https://nodejs.org/docs/latest-v20.x/api/module.html#customization-hooks
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { fileURLToPath, URL } from 'node:url'

const root = new URL('../', import.meta.url)
const compiled = new URL('node_modules/.cache/rowhouse-tests/', root)
const { exports: own } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/** What the bundle of tap depends on. */
const packages = new URL('node_modules/.package-lock.json', root)
const settings = new URL('.taprc', root)

/** The bundle of the service and its modules by URL, or null where each module is loaded by itself. */
let bundle = null

/** The bundle of tap, if there is one of these versions of packages and plugins. */
const tap = new URL(`tap-${stampOf(packages)}-${stampOf(settings)}.mjs`, compiled)
const hasTap = existsSync(tap)

/** In a process that runs a group of files (`support/file-group.ts`), a file's `tap` is its own subtest. */
const ofFile = 'test-of:'
let isGroup = false

export function initialize({ bundled, ofGroup }) {
  isGroup = ofGroup
  const manifest = bundled ? readCompiled(new URL('server.json', compiled)) : undefined
  if (manifest !== undefined) bundle = currentBundle(JSON.parse(manifest))
}

/** A bundle of files that have been edited since is not used. */
function currentBundle({ bundle: url, modules }) {
  const byUrl = new Map()
  for (const [number, [file, { stamp, exports: names }]] of Object.entries(modules).entries()) {
    const source = new URL(file, root)
    if (stampOf(source) !== stamp) return null
    byUrl.set(source.href, { number, names })
  }
  return { url, exports: byUrl }
}

function stampOf(source) {
  const { mtimeMs, size } = statSync(source, { throwIfNoEntry: false }) ?? {}
  return `${mtimeMs}-${size}`
}

/** The source of a name that the package exports, so that tests need no build. */
function ownSource(specifier) {
  const entry = own[`.${specifier.slice('rowhouse'.length)}`]
  return new URL(entry.default.replace('./dist/', 'server/').replace(/js$/, 'ts'), root).href
}

export function resolve(specifier, context, next) {
  // Each importer gets its own module, because the test is another one at each time.
  if (specifier === 'tap' && isGroup && context.parentURL.endsWith('.test.ts')) {
    return { url: `${ofFile}${context.parentURL}`, format: 'module', shortCircuit: true }
  }
  if (specifier === 'tap' && hasTap) return { url: tap.href, format: 'module', shortCircuit: true }
  return /^rowhouse(?:\/(?!package\.json)|$)/.test(specifier)
    ? { url: ownSource(specifier), shortCircuit: true }
    : next(specifier, context)
}

export async function load(url, context, next) {
  if (url.startsWith(ofFile)) {
    return { format: 'module', shortCircuit: true, source: 'export default globalThis.testOfFile' }
  }
  if (!url.startsWith(root.href) || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context)
  const bundled = bundle?.exports.get(url)
  if (bundled !== undefined) return { format: 'module', shortCircuit: true, source: reexports(bundled) }
  const source = new URL(url)
  const target = fileURLToPath(new URL(`${url.slice(root.href.length)}.${stampOf(source)}.js`, compiled))
  return { format: 'module', shortCircuit: true, source: readCompiled(target) ?? (await compile(source, target)) }
}

/** A module that exports what its namesake in the bundle does. */
const reexports = ({ number, names }) =>
  `export { ${names.map((name) => `m${number}_${name} as ${name}`).join(', ')} } from ${JSON.stringify(bundle.url)}`

function readCompiled(target) {
  try {
    return readFileSync(target, 'utf8')
  } catch {
    return undefined
  }
}

async function compile(source, target) {
  const { transform } = await import('esbuild')
  const { code } = await transform(readFileSync(source, 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    sourcefile: fileURLToPath(source),
  })
  mkdirSync(dirname(target), { recursive: true })
  // Several processes may compile the same file at once.
  const unfinished = `${target}.${process.pid}`
  writeFileSync(unfinished, code)
  renameSync(unfinished, target)
  return code
}
