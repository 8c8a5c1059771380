// The transformer: a process that transforms one image at a time.
import { serveImages } from '../../../image-process/child.ts'
import type { TransformerOptions, TransformTask } from './message.ts'
import { prepareTransforming, transform } from './transform.ts'

serveImages((options: TransformerOptions) => {
  prepareTransforming(options.threads)
  return Promise.resolve({
    state: null,
    work: (image: Uint8Array, task: TransformTask) => transform(image, task, options),
  })
})
