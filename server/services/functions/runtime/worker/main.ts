// The program of a worker: it runs one function, which the first message names.
import { createServer } from 'node:http'
// Deno has `URLPattern`; Node.js since release 24.
import 'urlpattern-polyfill'
import { mostHeaderBytes, type BootMessage, type EndReason } from '../message.ts'
import { exit, receive, report } from './channel.ts'
import { denoNamespace } from './deno.ts'
import { announceEnd, announceLoad, installEvents } from './events.ts'
import { catchFaults, failStart } from './faults.ts'
import { serve, served, type FetchHandler } from './handler.ts'
import { captureOutput, describeError, writeLog } from './log.ts'
import { captureServers, listenOn } from './node-servers.ts'
import { edgeRuntime } from './promises.ts'
import { serveRequest } from './requests.ts'

/** Milliseconds after loading in which the function begins to serve, for those that await something first. */
const serveWithin = 2000

/** Replaces all variables, also those that Node.js needed for its start. */
function setEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
}

/** `export default { fetch }`, or a handler itself. */
function exportedHandler(module: { readonly default?: unknown }): FetchHandler | undefined {
  const exported = module.default
  if (typeof exported === 'function') return exported as FetchHandler
  const handler = (exported as { readonly fetch?: unknown } | null | undefined)?.fetch
  return typeof handler === 'function' ? (handler.bind(exported) as FetchHandler) : undefined
}

async function loadFunction(bundle: string): Promise<void> {
  const handler = exportedHandler((await import(bundle)) as { readonly default?: unknown })
  if (handler) serve({ kind: 'fetch', handler })
  const late = setTimeout(
    () => failStart(`The function serves nothing. Call Deno.serve(handler), or export default { fetch }`),
    serveWithin,
  )
  await served
  clearTimeout(late)
}

async function boot({ bundle, socket, folder, environment }: BootMessage): Promise<void> {
  setEnvironment(environment)
  captureOutput()
  installEvents()
  captureServers()
  const started = catchFaults(failStart)
  Object.assign(globalThis, { Deno: denoNamespace(folder), EdgeRuntime: edgeRuntime })
  try {
    await loadFunction(bundle)
  } catch (error) {
    failStart(describeError(error))
    return
  }
  // The server, which limits both, ends connections and calls.
  const server = createServer(
    {
      maxHeaderSize: mostHeaderBytes,
      keepAliveTimeout: 0,
      requestTimeout: 0,
      headersTimeout: 0,
      connectionsCheckingInterval: 2 ** 30,
    },
    serveRequest,
  )
  listenOn(server, socket, () => {
    started()
    announceLoad()
    report({ kind: 'ready' })
  })
}

function end(reason: EndReason): void {
  try {
    announceEnd(reason)
  } catch (error) {
    writeLog('error', describeError(error))
  }
  // Entries of the log precede it on the channel.
  report({ kind: 'pong', memory: 0 }, () => exit(0))
}

receive((message) => {
  switch (message.kind) {
    case 'boot':
      return void boot(message)
    case 'ping':
      return report({ kind: 'pong', memory: process.memoryUsage.rss() })
    case 'end':
      return end(message.reason)
    default:
      message satisfies never
  }
})
