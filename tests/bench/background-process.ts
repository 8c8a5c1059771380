// The process of `background-clients.ts`: sends requests while it is told to, each client after its last response.
import { constants, setPriority } from 'node:os'
import type { BackgroundLoad } from './background-clients.ts'

// In use, clients run on other machines: here they get the processor time that server and readers leave.
setPriority(constants.priority.PRIORITY_LOW)

let goesOn = false
let done = 0

/** @throws Error if a request is refused: then the load is not the one that is meant */
async function send({ origin, requests }: BackgroundLoad, index: number): Promise<void> {
  const { method, path, headers, body } = requests[index % requests.length] ?? { method: 'GET', path: '/', headers: {} }
  const response = await fetch(origin + path, { method, headers, ...(body === undefined ? {} : { body }) })
  const content = await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${path} got ${response.status}: ${Buffer.from(content).toString()}`)
}

process.once('message', (load: BackgroundLoad) => {
  let next = 0
  const client = async (): Promise<void> => {
    while (goesOn) {
      await send(load, next++)
      if (goesOn) done += 1
    }
  }
  let clients: Promise<unknown> = Promise.resolve()
  process.on('message', (command: 'start' | 'stop') => {
    goesOn = command === 'start'
    if (goesOn) clients = Promise.all(Array.from({ length: load.clients }, client))
    else void clients.then(() => process.send?.(done))
  })
})
