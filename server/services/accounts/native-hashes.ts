// The native packages that compute hashes of passwords. Their binaries are optional packages of npm, one for each platform,
// so that an installation may lack them: they are loaded at first use.
import { lazyPackage } from '../../common/lazy.ts'

/** @throws Error that says how to install the binary, when there is none */
export const argon2Package = nativePackage<typeof import('@node-rs/argon2')>('@node-rs/argon2')

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
