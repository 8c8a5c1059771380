// The analyser: a process that decodes and analyses one image at a time.
import { serveImages } from '../../image-process/child.ts'
import { loadAnalysis } from './analyse.ts'
import { prepareDecoding } from './image.ts'
import type { AnalyserOptions } from './message.ts'

serveImages(async (options: AnalyserOptions) => {
  prepareDecoding(options.threads)
  const { models, analyse } = await loadAnalysis(options)
  return { state: models, work: (image: Uint8Array) => analyse(image) }
})
