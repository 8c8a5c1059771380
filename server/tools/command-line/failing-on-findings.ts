// The exit code of commands that look for something.

/** Exit code when a command could not look, distinct from that of findings (1). */
export const couldNotLook = 2

/**
 * Runs what a command looks for: exit code 1 if there is something, 2 if it could not look.
 *
 * @param look returns whether there is something
 * @throws the error of `look`
 */
export async function failOnFindings(setExitCode: (code: number) => void, look: () => Promise<boolean>): Promise<void> {
  try {
    if (await look()) setExitCode(1)
  } catch (error) {
    setExitCode(couldNotLook)
    throw error
  }
}
