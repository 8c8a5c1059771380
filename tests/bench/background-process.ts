// The process of `background-clients.ts`: sends requests while it is told to, each client after its last response.
import { constants, setPriority } from 'node:os'
import type { BackgroundLoad } from './background-clients.ts'

// In use, clients run on other machines: here they get the processor time that server and readers leave.
setPriority(constants.priority.PRIORITY_LOW)

let goesOn = false
let done = 0

/**
 * @returns whether the request was served: one network may not do everything at once
 * @throws Error if it fails in another way, because then the load is not the one that is meant
 */
async function send({ origin, requests }: BackgroundLoad, index: number): Promise<boolean> {
  const { method, path, headers, body } = requests[index % requests.length] ?? { method: 'GET', path: '/', headers: {} }
  const response = await fetch(origin + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const content = await response.arrayBuffer()
  const { status } = response
  if (status !== 200 && status !== 429) throw new Error(`${path} got ${status}: ${Buffer.from(content).toString()}`)
  return status === 200
}

process.once('message', (load: BackgroundLoad) => {
  let next = 0
  const client = async (): Promise<void> => {
    while (goesOn) {
      const isServed = await send(load, next++)
      if (goesOn && isServed) done += 1
    }
  }
  let clients: Promise<unknown> = Promise.resolve()
  process.on('message', (command: 'start' | 'stop') => {
    goesOn = command === 'start'
    if (goesOn) clients = Promise.all(Array.from({ length: load.clients }, client))
    else void clients.then(() => process.send?.(done))
  })
})
