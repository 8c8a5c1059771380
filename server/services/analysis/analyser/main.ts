// The analyser: a process that decodes and analyses one image at a time.
import { endWithServer, serveTasks } from '../../background/program.ts'
import { loadAnalysis } from './analyse.ts'
import { prepareDecoding } from './image.ts'
import type { AnalyserOptions } from './message.ts'

endWithServer()
serveTasks(async (options: AnalyserOptions) => {
  prepareDecoding(options.threads)
  const { models, analyse } = await loadAnalysis(options)
  return { state: models, work: (_task: null, image: Uint8Array) => analyse(image) }
})
