// Programs that tests compare with or run, and that are not part of this repository.

/**
 * The value of the option `skip` of a test that needs a program.
 *
 * @throws Error in CI, where nothing may be left out silently
 */
export function skipWithout(program: string, isThere: boolean): string | false {
  if (isThere) return false
  const message = `there is no ${program} for ${process.platform}-${process.arch}`
  if (process.env.CI === 'true') throw new Error(`${message}: CI needs it`)
  return message
}
