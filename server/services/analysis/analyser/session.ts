// A model in the ONNX runtime, with one image as input and one output.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { InferenceSession, Tensor } from 'onnxruntime-common'
import type { Pixels } from './image.ts'
import { describeModel, readSideCar, type ModelDescription } from './model-description.ts'
import { readMetadata } from './onnx-file.ts'

export type Output = { readonly dims: readonly number[]; readonly data: Float32Array }

export type ModelSession = {
  /** File name without its folder. */
  readonly file: string
  /** `yolov8n/3`, or without a version the beginning of the file's hash: `yolov8n@0f3a9c21d4e5` */
  readonly version: string
  readonly description: ModelDescription
  /** `[height, width]` of the input; undefined for dimensions that the ONNX file does not fix. */
  readonly inputSize: readonly [number | undefined, number | undefined]
  /** Runs the model on an image; blocks the thread. */
  readonly run: (pixels: Pixels) => Promise<Output>
}

/** What a classifier and a detector have in common. */
export type LoadedModel = Pick<ModelSession, 'file' | 'version'> & {
  /** Pixels of the longer side that images are scaled down to. */
  readonly side: number
}

/**
 * Loads a model.
 *
 * @param task the required task, by the exporter's name
 * @throws Error that says why it cannot be used
 */
export async function loadSession(path: string, task: 'detect' | 'classify', threads: number): Promise<ModelSession> {
  const file = basename(path)
  const [metadata, sideCar] = [await readMetadata(path), await readSideCar(path)]
  const description = describeModel(sideCar, metadata)
  if (description.task !== undefined && description.task !== task) {
    throw new Error(`it is for the task ${JSON.stringify(description.task)}, not "${task}"`)
  }
  const runtime = await importRuntime()
  const session = await runtime.InferenceSession.create(path, {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Logs errors only, which are also thrown.
    logSeverityLevel: 3,
  })
  const { name, size } = inputOf(session)
  const [output] = session.outputNames
  if (output === undefined) throw new Error('it has no output')
  const run = async (pixels: Pixels): Promise<Output> => {
    const tensor = new runtime.Tensor('float32', planes(pixels, description), [1, 3, pixels.height, pixels.width])
    const { [output]: result } = await session.run({ [name]: tensor }, [output])
    if (!result) throw new Error('the model returned no output')
    return outputOf(result)
  }
  const stem = file.replace(/\.onnx$/i, '')
  const version =
    description.version === undefined
      ? `${stem}@${(await hashOf(path)).slice(0, 12)}`
      : `${stem}/${description.version}`
  return { file, version, description, inputSize: size, run }
}

/** Not installed with the program: it takes 290 MB, which only models need. Its types are those of its part for all platforms. */
const runtimePackage = 'onnxruntime-node'

async function importRuntime(): Promise<typeof import('onnxruntime-common')> {
  try {
    return (await import(runtimePackage)) as typeof import('onnxruntime-common')
  } catch (error) {
    throw new Error('the package onnxruntime-node is not installed (npm install --ignore-scripts onnxruntime-node)', {
      cause: error,
    })
  }
}

/** @throws Error unless the only input is one image, with red, green and blue as planes of 32-bit floats */
function inputOf(session: InferenceSession): {
  readonly name: string
  readonly size: readonly [number | undefined, number | undefined]
} {
  const [input, ...others] = session.inputMetadata
  if (!input || others.length > 0) throw new Error(`it has ${session.inputMetadata.length} inputs instead of one`)
  if (!input.isTensor || input.type !== 'float32') {
    throw new Error(`its input has the type ${input.isTensor ? input.type : 'other'}, not float32`)
  }
  const known = input.shape.map((side) => (typeof side === 'number' && side > 0 ? side : undefined))
  const [batch, channels, height, width] = known
  if (known.length !== 4 || (batch ?? 1) !== 1 || (channels ?? 3) !== 3) {
    throw new Error(`its input has the shape [${input.shape.join(',')}], not [1,3,height,width]`)
  }
  return { name: input.name, size: [height, width] }
}

function outputOf({ dims, data, type }: Tensor): Output {
  if (!(data instanceof Float32Array)) throw new Error(`its output has the type ${type}, not float32`)
  return { dims, data }
}

/** The normalised planes of red, green and blue, from values between 0 and 1. */
function planes({ width, height, data }: Pixels, { mean, std }: ModelDescription): Float32Array {
  const size = width * height
  const values = new Float32Array(3 * size)
  for (let channel = 0; channel < 3; channel++) {
    const [offset, scale] = [mean[channel] ?? 0, 1 / (std[channel] ?? 1)]
    for (let pixel = 0; pixel < size; pixel++) {
      values[channel * size + pixel] = ((data[3 * pixel + channel] ?? 0) / 255 - offset) * scale
    }
  }
  return values
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
