// Loaded into the server process by `--import`: measures its processor time, how long its event loop was busy without a
// pause, and its memory, and reports them over the IPC channel. Times are processor time, because other processes delay
// the loop on a busy machine.
import process from 'node:process'
import { setInterval } from 'node:timers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Milliseconds between two looks at the clock. */
const interval = 2

const used = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

let [begun, last, busy, peak] = [used(), used(), 0, 0]

/** Between two ticks, the loop worked for less than the interval, or was blocked. */
const tick = () => {
  const now = used()
  busy = Math.max(busy, now - last)
  last = now
  peak = Math.max(peak, process.memoryUsage.rss())
}

const collect = () => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** Background processes inherit `--import`, and have channels for their tasks. */
if (process.argv[1]?.endsWith('main.js')) {
  setInterval(tick, interval).unref()
  process.on('message', (request) => {
    tick()
    if (request === 'collect') collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    process.send?.({ cpu: last - begun, busy, peak, rss, heap: heapUsed + external })
    begun = last = used()
    busy = 0
    peak = rss
  })
  // The channel must not keep the process running.
  process.channel?.unref()
  // The server does not outlive a test that was ended.
  process.on('disconnect', () => process.exit())
}
