// What functions import, as Deno writes it.
import { isBuiltin } from 'node:module'

/** A package and a path in it, as the function asks for it. */
type PackageImport = {
  readonly kind: 'package'
  /** Names under which it may be installed, the usual one first, with the subpath. */
  readonly candidates: readonly string[]
  /** The versions that the function asks for, or a tag. */
  readonly range: string | undefined
  /** Command that installs it. */
  readonly install: string
}

export type Specifier =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'builtin'; readonly name: string }
  | PackageImport
  /** Declarations of types, which have no code. */
  | { readonly kind: 'types' }
  /** `serve` of Deno's standard library, which preceded `Deno.serve`. */
  | { readonly kind: 'standard server' }
  | { readonly kind: 'unknown'; readonly reason: string }

// A name with scope, a range of versions, a path.
const packageName = /^(@[^/@]+\/[^/@]+|[^/@]+)(?:@([^/]+))?(\/.*)?$/
const standardServer = /^https:\/\/deno\.land\/std(?:@[^/]+)?\/http\/server\.ts$/
// Parts of addresses of esm.sh before the name: a version of its compiler, an asterisk for packages that stay separate.
const esmHost = /^https:\/\/esm\.sh\/(?:(?:v\d+|stable)\/)?\*?/

const installable = (name: string, range: string | undefined): string =>
  range === undefined ? name : `${name}@${range}`
const quoted = (text: string): string => (/^[\w@/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", '')}'`)

/** A package by its name in npm. */
function npmPackage(text: string): Specifier {
  const [, name, range, subpath = ''] = packageName.exec(text) ?? []
  if (name === undefined) return { kind: 'unknown', reason: 'it has no name of a package' }
  return {
    kind: 'package',
    candidates: [`${name}${subpath === '/' ? '' : subpath}`],
    range,
    install: `npm install ${quoted(installable(name, range))}`,
  }
}

/** A package of jsr.io, whose registry for npm calls `@scope/name` `@jsr/scope__name`. https://jsr.io/docs/npm-compatibility */
function jsrPackage(text: string): Specifier {
  const [, name, range, subpath = ''] = packageName.exec(text) ?? []
  if (!name?.startsWith('@')) return { kind: 'unknown', reason: 'packages of JSR have names such as jsr:@scope/name' }
  return {
    kind: 'package',
    candidates: [`@jsr/${name.slice(1).replace('/', '__')}${subpath}`, `${name}${subpath}`],
    range,
    install: `npx jsr add ${quoted(installable(name, range))}`,
  }
}

/**
 * What a specifier refers to, after the import map.
 *
 * @param text as `npm:hono@4/cors`, `jsr:@std/path`, `./file.ts`, `node:crypto`, `https://esm.sh/stripe@14` or the name of an installed package
 */
export function parseSpecifier(text: string): Specifier {
  if (/\.d\.[cm]?ts$/.test(text)) return { kind: 'types' }
  if (/^\.{0,2}\//.test(text) || text === '.' || text === '..' || text.startsWith('file:')) {
    return { kind: 'file', path: text }
  }
  if (text.startsWith('node:')) {
    return isBuiltin(text) ? { kind: 'builtin', name: text } : { kind: 'unknown', reason: 'Node.js has no such module' }
  }
  if (text.startsWith('npm:')) return npmPackage(text.replace(/^npm:\/?/, ''))
  if (text.startsWith('jsr:')) return jsrPackage(text.replace(/^jsr:\/?/, ''))
  if (standardServer.test(text)) return { kind: 'standard server' }
  if (esmHost.test(text)) {
    const name = text.replace(esmHost, '').replace(/[?#].*$/, '')
    if (/^(?:gh|jsr|pr)\//.test(name))
      return { kind: 'unknown', reason: 'only packages of npm are known by that address' }
    return npmPackage(name.replaceAll(/&[^/]*/g, ''))
  }
  if (/^[a-z][a-z+.-]*:/i.test(text)) {
    return {
      kind: 'unknown',
      reason: 'nothing is downloaded: install a package and import it as npm:name or jsr:@scope/name, or copy the file',
    }
  }
  return isBuiltin(text) ? { kind: 'builtin', name: `node:${text}` } : npmPackage(text)
}
