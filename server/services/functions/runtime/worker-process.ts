// The process of a function, which serves several calls at the same time.
import { spawn, type ChildProcess } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Call } from './call.ts'
import type { CompiledFunction } from './compiled-function.ts'
import { FunctionFailure, type FailureKind } from './function-failure.ts'
import type { FunctionLimits, LogLevel } from './function-source.ts'
import { channelDescriptor, isFromWorker, type EndReason, type FromWorker, type ToWorker } from './message.ts'
import { lineOf, readMessages } from './message-lines.ts'
import { workerOptions, workerVariables } from './worker-options.ts'

/** Milliseconds of the start, of the time between pings, of a worker that computes, and of the end. */
const startWithin = 10_000
const pingEvery = 250
const lateAfter = 1000
const endWithin = 1000
/** Memory of Node.js itself, and the part of the heap from which on a worker is replaced between calls. */
const baseBytes = 64 * 2 ** 20
const highMemory = 0.9
/** Characters of the latest output of Node.js, which explain an end, and of those in the log. */
const longestOutput = 8000
const loggedOutput = 1000

export type WorkerEvents = {
  readonly onLog: (level: LogLevel, message: string, requestId: string | undefined) => void
  /** Called once, after all calls have failed. */
  readonly onExit: (failure: FunctionFailure | undefined) => void
}

export class WorkerProcess {
  /** Resolves when the worker receives calls; rejects with a `FunctionFailure`. */
  readonly started: Promise<void>
  readonly #child: ChildProcess
  /** Missing if the process could not be started. */
  readonly #channel: Socket | undefined
  readonly #limits: FunctionLimits
  readonly #events: WorkerEvents
  readonly #connection: { readonly socketPath: string; readonly agent: Agent }
  readonly #calls = new Set<Call>()
  readonly #startTimer: NodeJS.Timeout
  #onStarted: () => void = () => undefined
  #onFailed: (failure: FunctionFailure) => void = () => undefined
  #state: 'starting' | 'ready' | 'retired' | 'ending' | 'ended' = 'starting'
  #failure: FunctionFailure | undefined
  #isWaiting = false
  #output = ''
  #heartbeat: NodeJS.Timeout | undefined
  /** Times at which the reply to a ping was awaited in vain. Unlike a time, it does not grow while this process is suspended. */
  #missed: number | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #endReason: EndReason = 'early_drop'

  /**
   * Starts the process.
   *
   * @param compiled the function
   * @param program path of the program of workers
   * @param socket path at which the worker receives calls
   */
  constructor(
    compiled: CompiledFunction,
    program: string,
    socket: string,
    limits: FunctionLimits,
    events: WorkerEvents,
  ) {
    this.#limits = limits
    this.#events = events
    this.#connection = { socketPath: socket, agent: new Agent({ keepAlive: true }) }
    this.started = new Promise((resolve, reject) => {
      this.#onStarted = resolve
      this.#onFailed = reject
    })
    // Nothing waits for a worker whose calls have ended before.
    this.started.catch(() => undefined)
    const folder = realpathSync(dirname(compiled.source.entrypoint))
    const options = workerOptions(
      { folder, code: [program, compiled.path], linked: compiled.linked },
      limits.memoryMegabytes,
    )
    this.#child = spawn(process.execPath, [...options, program], {
      cwd: folder,
      env: workerVariables(),
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-longestOutput)
    })
    this.#channel = this.#child.stdio[channelDescriptor] as Socket | undefined
    if (this.#channel) this.#listen(this.#channel)
    this.#child.on('error', (error) => {
      this.#kill('crashed', error.message)
      // Without a process, there is no exit to wait for.
      if (this.#child.pid === undefined) this.#onExit(null, null)
    })
    this.#child.once('exit', (code, signal) => this.#onExit(code, signal))
    this.#startTimer = setTimeout(
      () => this.#kill('boot', `The function did not start within ${startWithin} ms`),
      startWithin,
    )
    this.#send({
      kind: 'boot',
      bundle: pathToFileURL(compiled.path).href,
      socket,
      folder,
      environment: compiled.source.environment,
    })
    this.#watch()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get calls(): number {
    return this.#calls.size
  }

  /** Whether it receives further calls. */
  get isOpen(): boolean {
    return this.#state === 'starting' || this.#state === 'ready'
  }

  /** Whether it has computed for so long that new calls would wait. */
  get isLate(): boolean {
    return this.#blockedFor > lateAfter
  }

  get #blockedFor(): number {
    return (this.#missed ?? 0) * pingEvery
  }

  get isIdle(): boolean {
    return this.#state === 'ready' && this.#isUnused
  }

  get #isUnused(): boolean {
    return this.#calls.size === 0 && !this.#isWaiting
  }

  /** Sends a call as soon as the worker has started. */
  add(call: Call): void {
    this.#calls.add(call)
    this.#watch()
    this.started.then(
      () => call.send(this.#connection),
      (failure: FunctionFailure) => call.fail(failure),
    )
  }

  /** A call has ended. */
  remove(call: Call): void {
    if (this.#calls.delete(call)) this.#watch()
  }

  /** Ends the worker after its calls, or after the limit on time. */
  retire(reason: EndReason): void {
    if (!this.isOpen) return
    this.#state = 'retired'
    this.#endReason = reason
    this.#watch()
  }

  /** Kills the process immediately: one that computes would not handle any other signal. */
  #kill(kind: FailureKind, detail: string): void {
    this.#failure ??= new FunctionFailure(kind, detail)
    this.#child.kill('SIGKILL')
  }

  kill(): void {
    this.#kill('crashed', 'The server stops')
  }

  #send(message: ToWorker): void {
    // A process that has ended is reported by its exit.
    if (this.#channel?.writable === true) this.#channel.write(lineOf(message))
  }

  #listen(channel: Socket): void {
    channel.on('error', () => undefined)
    // A process that ends closes the channel, too, and then says why it has ended.
    channel.once('close', () => setTimeout(() => this.#child.kill('SIGKILL'), endWithin).unref())
    readMessages(
      channel,
      isFromWorker,
      (message) => this.#onMessage(message),
      () =>
        this.#kill(
          'crashed',
          `The function has written to file descriptor ${channelDescriptor}, which the server uses`,
        ),
    )
  }

  #onMessage(message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        if (this.#state === 'starting') this.#state = 'ready'
        clearTimeout(this.#startTimer)
        this.#onStarted()
        return this.#watch()
      case 'failed':
        this.#failure ??= new FunctionFailure('boot', message.detail)
        return
      case 'pong':
        this.#missed = undefined
        return this.#checkMemory(message.memory)
      case 'log':
        return this.#events.onLog(message.level, message.message, message.requestId)
      case 'waiting':
        this.#isWaiting = message.isWaiting
        return this.#watch()
      case 'unreliable':
        return this.retire('termination')
      default:
        message satisfies never
    }
  }

  /** Starts and stops the timers by what the worker does. */
  #watch(): void {
    if (this.#state === 'ending' || this.#state === 'ended') return
    clearTimeout(this.#idleTimer)
    if (this.#state === 'starting' || this.#calls.size > 0) {
      this.#heartbeat ??= setInterval(() => this.#ping(), pingEvery)
    } else if (this.#isWaiting) {
      this.#heartbeat ??= setInterval(() => this.#ping(), pingEvery)
      this.#idleTimer = setTimeout(() => this.#end('wall_clock'), this.#limits.timeoutMs).unref()
    } else {
      clearInterval(this.#heartbeat)
      this.#heartbeat = undefined
      this.#missed = undefined
      if (this.#state === 'retired') return this.#end(this.#endReason)
      this.#idleTimer = setTimeout(() => this.#end('early_drop'), this.#limits.idleMs).unref()
    }
  }

  #ping(): void {
    if (this.#missed === undefined) {
      this.#missed = 0
      return this.#send({ kind: 'ping' })
    }
    this.#missed++
    if (this.#blockedFor > this.#limits.blockedMs)
      return this.#kill('cpu', `The function computed for ${this.#limits.blockedMs} ms without a pause`)
    // It does not say itself how much memory it uses.
    void this.#readMemory()
  }

  /** Reads the resident memory, where the system has it as a file: the second number, in pages. */
  async #readMemory(): Promise<void> {
    const text = await readFile(`/proc/${this.#child.pid}/statm`, 'utf8').catch(() => '')
    this.#checkMemory(Number(text.split(' ')[1] ?? 0) * 4096)
  }

  #checkMemory(bytes: number): void {
    const limit = this.#limits.memoryMegabytes * 2 ** 20 + baseBytes
    if (bytes > limit) this.#kill('memory', `The function used more than ${this.#limits.memoryMegabytes} MB of memory`)
    else if (bytes > highMemory * limit) this.retire('memory')
  }

  #end(reason: EndReason): void {
    this.#state = 'ending'
    this.#stopTimers()
    this.#send({ kind: 'end', reason })
    setTimeout(() => this.#child.kill('SIGKILL'), endWithin).unref()
  }

  #stopTimers(): void {
    clearInterval(this.#heartbeat)
    clearTimeout(this.#idleTimer)
    clearTimeout(this.#startTimer)
  }

  #failureOf(code: number | null, signal: string | null): FunctionFailure {
    if (this.#failure) return this.#failure
    const output = this.#output.trim()
    if (/heap limit|out of memory/i.test(output)) {
      return new FunctionFailure('memory', `The function used more than ${this.#limits.memoryMegabytes} MB of memory`)
    }
    const end = signal === null ? `with the code ${code}` : `by the signal ${signal}`
    const kind = this.#state === 'starting' ? 'boot' : 'crashed'
    return new FunctionFailure(
      kind,
      `The process of the function ended ${end}${output === '' ? '' : `: ${output.slice(0, loggedOutput)}`}`,
    )
  }

  #onExit(code: number | null, signal: string | null): void {
    const wasEnding = this.#state === 'ending'
    const failure = this.#failureOf(code, signal)
    this.#state = 'ended'
    this.#stopTimers()
    this.#connection.agent.destroy()
    this.#onFailed(failure)
    for (const call of this.#calls) call.fail(failure)
    this.#events.onExit(wasEnding ? undefined : failure)
  }
}
