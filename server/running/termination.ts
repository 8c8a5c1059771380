// Handles the signals that end the process.

/** Sent by Ctrl-C, by a service manager or `kill`, and when the terminal closes. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export type Termination = {
  /** Aborts at the first signal, which cancels a start in progress. */
  readonly signal: AbortSignal
  /** Resolves at the first signal. */
  readonly received: Promise<NodeJS.Signals>
  /** Removes the signal handlers. */
  readonly dispose: () => void
}

/** Milliseconds in which a second signal is ignored: npm forwards the Ctrl-C that the terminal also sends directly. */
const echo = 1000

/**
 * Handles the signals that end the process, for a graceful shutdown. Another signal a while later ends the process
 * immediately; only its `exit` listeners still run.
 */
export function watchTermination(): Termination {
  const controller = new AbortController()
  let resolve: (signal: NodeJS.Signals) => void
  const received = new Promise<NodeJS.Signals>((settle) => (resolve = settle))
  let first: number | undefined
  const listen = (signal: NodeJS.Signals): void => {
    if (first !== undefined) {
      if (Date.now() - first > echo) process.exit(1)
      return
    }
    first = Date.now()
    controller.abort(new Error(`stopped by ${signal}`))
    resolve(signal)
  }
  for (const signal of signals) process.on(signal, listen)
  surviveTerminal()
  return {
    signal: controller.signal,
    received,
    dispose: () => {
      for (const signal of signals) process.removeListener(signal, listen)
    },
  }
}

/** Ignores write errors, because writing to a closed terminal would end the process during the shutdown. */
function surviveTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)
  }
}
