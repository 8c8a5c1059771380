// The analyser: a process that decodes and analyses one image at a time. If it crashes or hangs, the server replaces it.
import { readdirSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { loadAnalysis, type Analyse } from './analyse.ts'
import { ImageError, prepareDecoding } from './image.ts'
import { imageChannel, type AnalyserOptions, type AnalyserReply, type AnalyserRequest } from './message.ts'

/** Milliseconds between two checks of the parent. */
const watchInterval = 1000

const reply = (message: AnalyserReply): void => {
  if (process.connected) process.send?.(message)
}

/** Receives an image. The next one is sent after the reply to this one. */
const receive = (images: Socket, size: number): Promise<Buffer> =>
  new Promise((resolve) => {
    const image = Buffer.allocUnsafeSlow(size)
    let end = 0
    const onData = (piece: Buffer): void => {
      end += piece.copy(image, end)
      if (end < size) return
      images.off('data', onData).pause()
      resolve(image)
    }
    if (size === 0) resolve(image)
    else images.on('data', onData).resume()
  })

async function answer({ id, bytes }: AnalyserRequest, images: Socket, analyse: Analyse): Promise<void> {
  const image = await receive(images, bytes)
  try {
    reply({ kind: 'analysed', id, analysis: await analyse(image) })
  } catch (error) {
    if (error instanceof ImageError) reply({ kind: 'refused', id, fault: error.fault, message: error.message })
    else reply({ kind: 'failed', id, message: error instanceof Error ? error.message : String(error) })
  }
}

/**
 * Ends this process when the server was killed. Another thread watches the parent, because this one cannot notice a closed
 * channel during an analysis.
 */
function endWithServer(): void {
  const watch = `
    const parent = process.ppid
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, ${watchInterval})
  `
  new Worker(watch, { eval: true, execArgv: [], stdout: true, stderr: true }).unref()
}

/**
 * Gives requests to the REST API priority on a busy machine. On Linux a priority belongs to a thread: later threads inherit
 * it from the one that starts them, but images are decoded by threads of libuv's pool, which exist already.
 */
function lowerPriority(): void {
  const { PRIORITY_LOW: priority } = constants.priority
  setPriority(priority)
  if (process.platform !== 'linux') return
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), priority)
    } catch {
      // The thread has ended.
    }
  }
}

// Ignores signals that a terminal or service manager sends to the whole process group. The server ends this process after
// requests in flight.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())
endWithServer()
lowerPriority()

process.once('message', (options: AnalyserOptions) => {
  prepareDecoding(options.threads)
  void loadAnalysis(options).then(({ models, analyse }) => {
    const images = new Socket({ fd: imageChannel })
    process.on('message', (request: AnalyserRequest) => void answer(request, images, analyse))
    reply({ kind: 'ready', models })
  })
})
