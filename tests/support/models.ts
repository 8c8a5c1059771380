// Models with known results: fixed in the file, or simple functions of the image.
import { floats, integers, type Constant, type Graph, type Node, type Side } from './onnx.ts'
import { seededRandom } from './seeded-random.ts'

const image = (height: Side, width: Side) => ({ name: 'image', shape: [1, 3, height, width] })

/** Returns the same output of this shape for every image. */
export const planted = (
  height: Side,
  width: Side,
  shape: readonly number[],
  values: ArrayLike<number> = new Float32Array(shape.reduce((product, side) => product * side, 1)),
): Graph => ({
  inputs: [image(height, width)],
  outputs: [{ name: 'output', shape }],
  constants: [floats('planted', shape, Array.from(values))],
  nodes: [{ op: 'Identity', inputs: ['planted'], outputs: ['output'] }],
})

/** A classifier with three classes, red, green and blue, whose scores are the mean of each colour times 20. */
export const colourClassifier = (side: Side): Graph => ({
  inputs: [image(side, side)],
  outputs: [{ name: 'scores', shape: [1, 3] }],
  constants: [floats('factor', [1], [20])],
  nodes: [
    { op: 'ReduceMean', inputs: ['image'], outputs: ['mean'], attributes: { axes: [2, 3], keepdims: 0 } },
    { op: 'Mul', inputs: ['mean', 'factor'], outputs: ['scores'] },
  ],
})

/**
 * A detector with one class that evaluates cells of 8 x 8 pixels. The confidence of a cell's box is the difference of
 * its green and red. Its stride is 8.
 */
export function greenDetector(height: number, width: number): Graph {
  const [rows, columns] = [height / 8, width / 8]
  const cells = rows * columns
  const places = Array.from({ length: cells }, (_, cell) => [
    (cell % columns) * 8 + 4,
    Math.floor(cell / columns) * 8 + 4,
  ])
  const geometry = [
    ...places.map(([x]) => x ?? 0),
    ...places.map(([, y]) => y ?? 0),
    ...Array<number>(2 * cells).fill(8),
  ]
  const weights = [-1, 1, 0].flatMap((sign) => Array<number>(64).fill(sign / 64))
  return {
    inputs: [image(height, width)],
    outputs: [{ name: 'output', shape: [1, 5, cells] }],
    constants: [
      floats('weights', [1, 3, 8, 8], weights),
      floats('places', [1, 4, cells], geometry),
      integers('row', [1, 1, cells]),
      floats('none', [], [0]),
      floats('all', [], [1]),
    ],
    nodes: [
      {
        op: 'Conv',
        inputs: ['image', 'weights'],
        outputs: ['green'],
        attributes: { strides: [8, 8], kernel_shape: [8, 8] },
      },
      { op: 'Clip', inputs: ['green', 'none', 'all'], outputs: ['confidence'] },
      { op: 'Reshape', inputs: ['confidence', 'row'], outputs: ['confidences'] },
      { op: 'Concat', inputs: ['places', 'confidences'], outputs: ['output'], attributes: { axis: 1 } },
    ],
  }
}

/** A classifier of two classes that computes for hours on any image that is not black. */
export const endlessClassifier = (side: number): Graph => ({
  inputs: [image(side, side)],
  outputs: [{ name: 'scores', shape: [1, 2] }],
  constants: [
    floats('factor', [], [1e12]),
    floats('start', [1, 2], [0.9, 0.1]),
    { name: 'yes', shape: [], values: Uint8Array.of(1) },
  ],
  nodes: [
    { op: 'ReduceMax', inputs: ['image'], outputs: ['brightest'], attributes: { keepdims: 0 } },
    { op: 'Mul', inputs: ['brightest', 'factor'], outputs: ['many'] },
    { op: 'Cast', inputs: ['many'], outputs: ['times'], attributes: { to: 7 } },
    {
      op: 'Loop',
      inputs: ['times', 'yes', 'start'],
      outputs: ['scores'],
      attributes: {
        body: {
          graph: {
            inputs: [
              { name: 'step', type: 'int64', shape: [] },
              { name: 'condition', type: 'boolean', shape: [] },
              { name: 'before', shape: [1, 2] },
            ],
            outputs: [
              { name: 'goesOn', type: 'boolean', shape: [] },
              { name: 'after', shape: [1, 2] },
            ],
            nodes: [
              { op: 'Identity', inputs: ['condition'], outputs: ['goesOn'] },
              { op: 'Sqrt', inputs: ['before'], outputs: ['after'] },
            ],
          },
        },
      },
    },
  ],
})

/** Deterministic numbers between -1 and 1. */
function* someNumbers(count: number): Generator<number> {
  const random = seededRandom(11)
  for (let index = 0; index < count; index++) yield 2 * random.next() - 1
}

/**
 * A detector of 80 classes as slow as YOLOv8n at 640 x 640 pixels: about 4.3 billion multiplications, in convolutions
 * of the same sizes, with an output of the same shape. Its weights are random.
 */
export function nanoShapedDetector(): Graph {
  const constants: Constant[] = [integers('cells', [1, 84, -1])]
  const nodes: Node[] = []
  const outputs: string[] = []
  const convolve = (
    from: string,
    inChannels: number,
    outChannels: number,
    kernel: number,
    stride: number,
    bias = 0,
  ): string => {
    const name = `layer${nodes.length}`
    const count = outChannels * inChannels * kernel * kernel
    const scale = Math.sqrt(6 / (inChannels * kernel * kernel))
    constants.push(
      floats(
        `${name}w`,
        [outChannels, inChannels, kernel, kernel],
        Array.from(someNumbers(count), (n) => n * scale),
      ),
    )
    constants.push(floats(`${name}b`, [outChannels], Array<number>(outChannels).fill(bias)))
    const pad = (kernel - 1) / 2
    const attributes = { kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad] }
    nodes.push({ op: 'Conv', inputs: [from, `${name}w`, `${name}b`], outputs: [name], attributes })
    return name
  }
  const activated = (from: string): string => {
    nodes.push({ op: 'Sigmoid', inputs: [from], outputs: [`${from}s`] })
    nodes.push({ op: 'Mul', inputs: [from, `${from}s`], outputs: [`${from}a`] })
    return `${from}a`
  }
  const widths = [16, 32, 64, 128, 256] as const
  let [at, channels] = ['image', 3]
  for (const [index, width] of widths.entries()) {
    at = activated(convolve(at, channels, width, 3, 2))
    channels = width
    if (index < 2) continue
    for (let more = 0; more < 5; more++) at = activated(convolve(at, width, width, 3, 1))
    const head = convolve(at, width, 84, 1, 1, -5)
    nodes.push({ op: 'Sigmoid', inputs: [head], outputs: [`${head}s`] })
    nodes.push({ op: 'Reshape', inputs: [`${head}s`, 'cells'], outputs: [`${head}r`] })
    outputs.push(`${head}r`)
  }
  nodes.push({ op: 'Concat', inputs: outputs, outputs: ['output'], attributes: { axis: 2 } })
  return { inputs: [image(640, 640)], outputs: [{ name: 'output', shape: [1, 84, 8400] }], constants, nodes }
}

/** Names of 80 classes, in the format of exporters. */
export const nanoNames = `{${Array.from({ length: 80 }, (_, index) => `${index}: '${index === 0 ? 'water hyacinth' : `class ${index}`}'`).join(', ')}}`
