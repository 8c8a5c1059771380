// The hooks of `typescript.mjs`. https://nodejs.org/docs/latest-v20.x/api/module.html#customization-hooks
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { fileURLToPath, URL } from 'node:url'

const root = new URL('../', import.meta.url)
const compiled = new URL('node_modules/.cache/rowhouse-tests/', root)
const { exports: own } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/** The source of a name that the package exports, so that tests need no build. */
function ownSource(specifier) {
  const entry = own[`.${specifier.slice('rowhouse'.length)}`]
  return new URL(entry.default.replace('./dist/', 'server/').replace(/js$/, 'ts'), root).href
}

export function resolve(specifier, context, next) {
  return /^rowhouse(?:\/(?!package\.json)|$)/.test(specifier)
    ? { url: ownSource(specifier), shortCircuit: true }
    : next(specifier, context)
}

export async function load(url, context, next) {
  if (!url.startsWith(root.href) || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context)
  const source = new URL(url)
  const { mtimeMs, size } = statSync(source)
  const target = fileURLToPath(new URL(`${url.slice(root.href.length)}.${mtimeMs}-${size}.js`, compiled))
  return { format: 'module', shortCircuit: true, source: readCompiled(target) ?? (await compile(source, target)) }
}

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
