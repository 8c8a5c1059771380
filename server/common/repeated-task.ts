// A task of the background that runs again and again.

export type RepeatedTask = {
  readonly run: () => Promise<unknown>
  /** Milliseconds until the next run, or until the first one. Read before each. */
  readonly pause: (isFirst: boolean) => number
  /** Receives the error of a run. The next run takes place nevertheless. */
  readonly onError: (error: unknown) => void
}

/**
 * Runs a task after a pause, and again after each run.
 *
 * @returns stops at once, and resolves when the run in progress, if any, has ended
 */
export function repeat({ run, pause, onError }: RepeatedTask): () => Promise<void> {
  let timer: NodeJS.Timeout
  let isStopped = false
  let running: Promise<void> = Promise.resolve()
  const wait = (isFirst: boolean): void => {
    timer = setTimeout(() => {
      running = run()
        .then(() => undefined, onError)
        .finally(() => {
          if (!isStopped) wait(false)
        })
    }, pause(isFirst))
    timer.unref()
  }
  wait(true)
  return () => {
    isStopped = true
    clearTimeout(timer)
    return running
  }
}
