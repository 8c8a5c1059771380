// A process with a runtime that prints what a function may do, for a test on another release of Node.js.
import { json } from 'node:stream/consumers'
import { testRuntime } from './functions.ts'

const teardowns: (() => unknown)[] = []
const { invoke, read } = testRuntime({ teardown: (task) => void teardowns.push(task as () => unknown) })
const run = async (task: string): Promise<unknown> => json((await invoke('deno', `deno?task=${task}`)).body)
const results = {
  release: process.versions.node,
  page: await run('text&with=page.html'),
  read: await run('nodeRead&with=/etc/passwd'),
  write: await run('nodeWrite'),
  process: await run('nodeProcess'),
  web: await run('web'),
  rejection: await read('faults', 'faults/rejection'),
  exception: await read('faults', 'faults/exception'),
  express: await read('express', 'express/hello'),
}
process.stdout.write(JSON.stringify(results))
for (const teardown of teardowns) await teardown()
