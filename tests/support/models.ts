// Models whose answers are known: planted in the file, or simple functions of the image.
import { floats, integers, type Graph, type Side } from './onnx.ts'

const image = (height: Side, width: Side) => ({ name: 'image', shape: [1, 3, height, width] })

/** Answers the same, whatever the image: an output of this shape. */
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

/** Three classes, each with the mean of its colour times 20 as its score: red, green, blue. */
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
 * A detector with one class that looks at cells of 8 x 8 pixels: a box of a cell has as its confidence how much more green
 * than red there is in it. Its stride is 8.
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
