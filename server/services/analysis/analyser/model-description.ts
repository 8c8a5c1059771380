// Describes a model, from the JSON file next to it or from the metadata in the ONNX file.
import { readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'

/** A side-car file: `detector.json` next to `detector.onnx`. It takes precedence over the metadata of the ONNX file. */
type SideCar = {
  /** Names of the classes in the order of their indices. */
  readonly names?: readonly string[]
  /** The class, or classes, that mean water hyacinth. */
  readonly positive?: string | readonly string[]
  /** Subtracted from red, green and blue values between 0 and 1, before division by `std`. */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** For a classifier, the lowest probability that counts as positive. For a detector, the minimum confidence of a box. */
  readonly threshold?: number
  readonly version?: string
  /** Height and width of the input, if the ONNX file does not fix them. */
  readonly imgsz?: number | readonly [number, number]
}

export type ModelDescription = {
  readonly names: readonly string[] | undefined
  readonly positive: readonly string[] | undefined
  readonly mean: readonly number[]
  readonly std: readonly number[]
  readonly threshold: number | undefined
  readonly version: string | undefined
  /** `[height, width]` */
  readonly size: readonly [number, number] | undefined
  readonly stride: number
  /** The exporter's name for the model's task: `detect`, `classify` … */
  readonly task: string | undefined
}

const largestSide = 4096
const side = { type: 'integer', minimum: 1, maximum: largestSide }
const name = { type: 'string', minLength: 1, maxLength: 200 }
const ofColours = (more: object): object => ({
  type: 'array',
  items: { type: 'number', ...more },
  minItems: 3,
  maxItems: 3,
})

const isSideCar = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<SideCar>({
  type: 'object',
  properties: {
    names: { type: 'array', items: name, minItems: 1 },
    positive: { anyOf: [name, { type: 'array', items: name, minItems: 1 }] },
    mean: ofColours({}),
    std: ofColours({ exclusiveMinimum: 0 }),
    threshold: { type: 'number', minimum: 0, maximum: 1 },
    version: { type: 'string', minLength: 1, maxLength: 40 },
    imgsz: { anyOf: [side, { type: 'array', items: side, minItems: 2, maxItems: 2 }] },
  },
  additionalProperties: false,
})

/**
 * Reads the side-car file of a model.
 *
 * @returns undefined when there is none
 * @throws Error that says what is invalid
 */
export async function readSideCar(modelPath: string): Promise<SideCar | undefined> {
  let text: string
  try {
    text = await readFile(sideCarPath(modelPath), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new Error('its JSON file is not valid JSON', { cause: error })
  }
  if (isSideCar(content)) return content
  const faults = (isSideCar.errors ?? []).map(({ instancePath, message, params }) => {
    const { additionalProperty } = params as { additionalProperty?: string }
    return additionalProperty === undefined
      ? `${instancePath.slice(1) || 'it'} ${message}`
      : `${additionalProperty} is not one of names, positive, mean, std, threshold, version, imgsz`
  })
  throw new Error(`its JSON file is invalid: ${faults.join('; ')}`)
}

/** `models/detector.onnx` -> `models/detector.json` */
const sideCarPath = (modelPath: string): string => `${modelPath.replace(/\.onnx$/i, '')}.json`

/**
 * Combines the side-car file and the metadata of the ONNX file.
 *
 * @throws Error when the metadata has an unknown format
 */
export function describeModel(sideCar: SideCar | undefined, metadata: ReadonlyMap<string, string>): ModelDescription {
  const { names, positive, mean, std, threshold, version, imgsz } = sideCar ?? {}
  const [namesText, sizeText, strideText] = [metadata.get('names'), metadata.get('imgsz'), metadata.get('stride')]
  const stride = strideText === undefined ? 32 : Number(strideText)
  if (!Number.isInteger(stride) || stride < 8 || stride > 256 || !Number.isInteger(Math.log2(stride))) {
    throw new Error(`its metadata "stride" is ${shown(strideText)}, not a power of 2 from 8 to 256`)
  }
  return {
    names: names ?? (namesText === undefined ? undefined : classNames(namesText)),
    positive: typeof positive === 'string' ? [positive] : positive,
    mean: mean ?? [0, 0, 0],
    std: std ?? [1, 1, 1],
    threshold,
    version: version ?? metadata.get('version'),
    size:
      typeof imgsz === 'number' ? [imgsz, imgsz] : (imgsz ?? (sizeText === undefined ? undefined : sizeOf(sizeText))),
    stride,
    task: metadata.get('task'),
  }
}

const shown = (text: string | undefined): string => JSON.stringify((text ?? '').slice(0, 40))

/** `[640, 640]` */
function sizeOf(text: string): readonly [number, number] {
  const [, height, width] = /^\s*[[(]\s*(\d{1,4})\s*,\s*(\d{1,4})\s*[\])]\s*$/.exec(text) ?? []
  const size = [Number(height), Number(width)] as const
  if (!size.every((side) => side >= 1 && side <= largestSide)) {
    throw new Error(`its metadata "imgsz" is ${shown(text)}, not [height, width]`)
  }
  return size
}

/** Parses a dictionary or list in Python or JSON notation: `{0: 'water hyacinth', 1: "ship's hull"}`, `["a", "b"]`. */
export function classNames(text: string): readonly string[] {
  const fault = (): Error => new Error(`its metadata "names" is ${shown(text)}, not a list of names`)
  const isList = /^\s*\[/.test(text)
  const body = /^\s*[[{]([^]*)[\]}]\s*$/.exec(text)?.[1]
  if (body === undefined) throw fault()
  const names: string[] = []
  const entry = /\s*(?:["']?(\d{1,5})["']?\s*:\s*)?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*(?:,|$)/y
  while (entry.lastIndex < body.trimEnd().length) {
    const match = entry.exec(body)
    const [, index, single, double] = match ?? []
    if (!match || (index === undefined) !== isList) throw fault()
    names[index === undefined ? names.length : Number(index)] = (single ?? double ?? '').replace(/\\(.)/g, '$1')
  }
  // Rejects gaps: `includes` also finds holes of an array.
  if (names.length === 0 || names.includes(undefined as never)) throw fault()
  return names
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

/**
 * Indices of the classes that mean water hyacinth: those that the side-car file lists, otherwise those named after it.
 *
 * @throws Error when there is no such class
 */
export function positiveClasses({ names, positive }: ModelDescription, count: number): readonly number[] {
  if (names !== undefined && names.length !== count) {
    throw new Error(`it has ${count} classes, but ${names.length} names`)
  }
  if (positive !== undefined) {
    return positive.map((name) => {
      const index = names?.indexOf(name) ?? -1
      if (index < 0) throw new Error(`"positive" has ${shown(name)}, which is not one of its classes: ${listed(names)}`)
      return index
    })
  }
  if (count === 1) return [0]
  const found = (names ?? []).flatMap((name, index) =>
    /\bwater hyacinths?\b/.test(plain(name)) && !/^(?:non|not?|without) /.test(plain(name)) ? [index] : [],
  )
  if (found.length > 0) return found
  throw new Error(
    `it has no class called water hyacinth: set "positive" in its JSON file to one of its classes: ${listed(names)}`,
  )
}

const listed = (names: readonly string[] | undefined): string =>
  names === undefined
    ? 'classes without names'
    : names
        .slice(0, 10)
        .map((name) => JSON.stringify(name))
        .join(', ')
