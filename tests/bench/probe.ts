// Loaded into this server before its own code (`node --import`). It answers queries of the parent process about the
// server's internals and is idle otherwise. It must not import other files.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

type Question =
  | { readonly ask: 'memory' }
  | { readonly ask: 'start profile' }
  | { readonly ask: 'stop profile'; readonly file: string }

const session = new Session()

async function reply(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'memory':
      return process.memoryUsage()
    case 'start profile':
      session.connect()
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: 500 })
      await session.post('Profiler.start')
      return null
    case 'stop profile': {
      const { profile } = await session.post('Profiler.stop')
      session.disconnect()
      writeFileSync(question.file, JSON.stringify(profile))
      return null
    }
    default:
      return question satisfies never
  }
}

process.on('message', (question) => {
  void reply(question as Question).then((answer) => process.send?.(answer))
})
// The channel to the parent must not keep the server alive.
process.channel?.unref()
