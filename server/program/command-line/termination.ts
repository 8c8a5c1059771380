// The end of the process, asked for by a signal.

/** Ctrl-C, a service manager or `kill`, and the end of the terminal. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export type Termination = {
  /** Aborted by the first signal: gives up whatever is just being started. */
  readonly signal: AbortSignal
  /** Resolves with the first signal. */
  readonly received: Promise<NodeJS.Signals>
  /** Leaves the signals to others again. */
  readonly dispose: () => void
}

/** npm passes on to us the Ctrl-C that the terminal has sent to both. */
const echo = 1000

/**
 * Takes over the signals that end the process, so that it can end in order. Who asks again a while later does not want
 * to wait: that ends the process at once, and only what listens to its `exit` is still done.
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

/** After the end of the terminal every write to it fails, which would otherwise end the process in the middle. */
function surviveTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)
  }
}
