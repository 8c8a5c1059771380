// The transformer: a process that transforms one image at a time.
import { endWithServer, serveTasks } from '../../../background/program.ts'
import type { TransformerOptions, TransformTask } from './message.ts'
import { prepareTransforming, transform } from './transform.ts'

endWithServer()
serveTasks((options: TransformerOptions) => {
  prepareTransforming(options.threads)
  return Promise.resolve({
    state: null,
    work: (task: TransformTask, image: Uint8Array) => transform(image, task, options),
  })
})
