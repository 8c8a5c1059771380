// The native packages that compute hashes of passwords. Their binaries are optional packages of npm, one for each platform,
// so that an installation may lack them: they are loaded at first use.
import { createRequire } from 'node:module'
import { lazyPackage } from '../../common/lazy.ts'

const argon2 = '@node-rs/argon2'

/** @throws Error that says how to install the binary, when there is none */
export const argon2Package = nativePackage<typeof import('@node-rs/argon2')>(argon2)

/**
 * Makes sure that argon2 is installed for this platform. Does not load its binary, which takes 4 MB of memory: the processes that
 * hash passwords do.
 *
 * @throws as `argon2Package`
 */
export function requireArgon2(): void {
  if (!hasBinary(argon2)) argon2Package()
}

/** @throws Error that says how to install the binary, when there is none */
export const bcryptPackage = nativePackage<typeof import('@node-rs/bcrypt')>('@node-rs/bcrypt')

function nativePackage<T>(name: string): () => T {
  const load = lazyPackage<T>(name)
  return () => {
    try {
      return load()
    } catch (error) {
      const platform = `${process.platform}-${process.arch}`
      throw new Error(`there is no ${name} for ${platform} here; install the packages without --omit=optional`, {
        cause: error,
      })
    }
  }
}

/** Whether one of the optional packages with a binary for this platform is installed; false also if that is unknown. */
function hasBinary(name: string): boolean {
  const require = createRequire(import.meta.url)
  try {
    const manifest = require.resolve(`${name}/package.json`)
    const { optionalDependencies = {} } = require(manifest) as {
      readonly optionalDependencies?: Readonly<Record<string, string>>
    }
    const platform = `${name}-${process.platform}-${process.arch}`
    const ofPlatform = Object.keys(optionalDependencies).filter((binary) => `${binary}-`.startsWith(`${platform}-`))
    return ofPlatform.some((binary) => isResolved(createRequire(manifest), binary))
  } catch {
    return false
  }
}

function isResolved(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name)
    return true
  } catch {
    return false
  }
}
