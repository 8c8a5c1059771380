// The native packages that compute hashes of passwords. Their binaries are optional packages of npm, one for each platform,
// so that an installation may lack them: they are loaded at first use.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** @throws Error that says how to install the binary, when there is none */
export const argon2Package = (): typeof import('@node-rs/argon2') => load('@node-rs/argon2')

/** @throws Error that says how to install the binary, when there is none */
export const bcryptPackage = (): typeof import('@node-rs/bcrypt') => load('@node-rs/bcrypt')

const loaded = new Map<string, unknown>()

function load<T>(name: string): T {
  if (!loaded.has(name)) loaded.set(name, requirePackage(name))
  return loaded.get(name) as T
}

function requirePackage(name: string): unknown {
  try {
    return require(name)
  } catch (error) {
    const platform = `${process.platform}-${process.arch}`
    throw new Error(`there is no ${name} for ${platform} here; install the packages without --omit=optional`, {
      cause: error,
    })
  }
}
