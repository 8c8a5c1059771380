// Receives autocannon's options as a message, runs it, and sends the result.
import autocannon from 'autocannon'
import type { Played } from './load.ts'

process.once('message', (options) => {
  void autocannon(options as autocannon.Options).then((result) => {
    const { p50, p99 } = result.latency
    const played: Played = {
      requests: result.requests.total,
      seconds: result.duration,
      p50,
      p99,
      refused: result['4xx'] + result['5xx'],
      broken: result.errors + result.timeouts,
    }
    process.send?.(played, () => process.disconnect())
  })
})
