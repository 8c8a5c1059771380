// A process with a runtime, which calls a function that never ends, for a test that kills it.
import { fixtureFunction, testRuntime } from './functions.ts'

const { read, invoke, runtime } = testRuntime({ teardown: () => undefined })
const [, idle] = await read('default-export', 'x')
const [, text] = await read('faults', 'faults/fine')
const never = invoke(fixtureFunction('faults'), 'faults/hang')
process.stdout.write(
  `${JSON.stringify({ idle, hanging: Number(text.split(' ')[1]), workers: runtime.statistics().workers })}\n`,
)
await never
