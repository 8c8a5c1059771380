// What a script below `tests/cluster` has found, as lines on standard output.

export type Checks = {
  readonly check: (isRight: boolean, text: string) => void
  /** How many checks have failed so far. */
  readonly failures: () => number
  /** Prints the result, and ends the process: exit code 1 if a check has failed. */
  readonly end: () => never
}

export function startChecks(): Checks {
  let failures = 0
  return {
    check: (isRight, text) => {
      console.log(`${isRight ? 'ok' : 'NOT OK'} - ${text}`)
      if (!isRight) failures++
    },
    failures: () => failures,
    end: () => {
      console.log(failures === 0 ? 'passed' : `${failures} failed`)
      process.exit(failures === 0 ? 0 : 1)
    },
  }
}
