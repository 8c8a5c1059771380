// Writes small ONNX files with known answers. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
import { symlink, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { addedPackage } from './added-package.ts'

// Protocol Buffers -----------------------------------------------------------------------------------------------------

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}
const integer = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)])
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value])
const text = (field: number, value: string): Buffer => bytes(field, Buffer.from(value))
const message = (field: number, ...parts: readonly Buffer[]): Buffer => bytes(field, Buffer.concat(parts))

// Tensors and nodes ----------------------------------------------------------------------------------------------------

const float32 = 1
const int64 = 7
const boolean = 9
const types = { float32, float64: 11, int64, boolean } as const
type Type = keyof typeof types

/** A dimension of a shape; a string is the name of a variable one. */
export type Side = number | string
type Port = { readonly name: string; readonly type?: Type; readonly shape: readonly Side[] }

export type Constant = {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array | BigInt64Array | Uint8Array
  /** Name of the file that has the values, next to the model; undefined: they are in the model. */
  readonly file?: string
}

export type Attribute = number | readonly number[] | { readonly float: number } | { readonly graph: Graph }

export type Node = {
  readonly op: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, Attribute>>
}

export type Graph = {
  readonly nodes: readonly Node[]
  readonly constants?: readonly Constant[]
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
}

const typeOf = (values: Constant['values']): number =>
  values instanceof Float32Array ? float32 : values instanceof BigInt64Array ? int64 : boolean

const tensor = ({ name, shape, values, file }: Constant): readonly Buffer[] => [
  ...shape.map((side) => integer(1, side)),
  integer(2, typeOf(values)),
  text(8, name),
  ...(file === undefined
    ? [bytes(9, Buffer.from(values.buffer, values.byteOffset, values.byteLength))]
    : [message(13, text(1, 'location'), text(2, file)), integer(14, 1)]),
]

const port = ({ name, type = 'float32', shape }: Port): readonly Buffer[] => {
  const sides = shape.map((side) => message(1, typeof side === 'number' ? integer(1, side) : text(2, side)))
  return [text(1, name), message(2, message(1, integer(1, types[type]), message(2, ...sides)))]
}

function attribute(name: string, value: Attribute): readonly Buffer[] {
  const named = text(1, name)
  if (typeof value === 'number') return [named, integer(3, value), integer(20, 2)]
  if ('float' in value) {
    const float = Buffer.alloc(4)
    float.writeFloatLE(value.float)
    return [named, varint(2 * 8 + 5), float, integer(20, 1)]
  }
  if ('graph' in value) return [named, message(6, ...graphOf(value.graph)), integer(20, 5)]
  return [named, ...value.map((each) => integer(8, each)), integer(20, 7)]
}

const graphOf = ({ nodes, constants = [], inputs, outputs }: Graph): readonly Buffer[] => [
  ...nodes.map(({ op, inputs, outputs, attributes = {} }) =>
    message(
      1,
      ...inputs.map((name) => text(1, name)),
      ...outputs.map((name) => text(2, name)),
      text(4, op),
      ...Object.entries(attributes).map(([name, value]) => message(5, ...attribute(name, value))),
    ),
  ),
  text(2, 'graph'),
  ...constants.map((constant) => message(5, ...tensor(constant))),
  ...inputs.map((each) => message(11, ...port(each))),
  ...outputs.map((each) => message(12, ...port(each))),
]

export type Metadata = Readonly<Record<string, string>>

/** The bytes of an ONNX file. */
export const onnxFile = (graph: Graph, metadata: Metadata = {}): Buffer =>
  Buffer.concat([
    integer(1, 8),
    text(2, 'tests'),
    message(7, ...graphOf(graph)),
    message(8, text(1, ''), integer(2, 13)),
    ...Object.entries(metadata).map(([key, value]) => message(14, text(1, key), text(2, value))),
  ])

/** Installs the runtime, as someone who has a model does. */
async function requireRuntime(): Promise<void> {
  const name = 'onnxruntime-node'
  const installed = await addedPackage(name, '1.30.0')
  await symlink(installed, fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url))).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
}

/** Writes a model to a file, and makes sure that the program can run it. */
export async function writeOnnx(path: string, graph: Graph, metadata: Metadata = {}): Promise<string> {
  await requireRuntime()
  await writeFile(path, onnxFile(graph, metadata))
  return path
}

export const floats = (name: string, shape: readonly number[], values: Iterable<number>): Constant => ({
  name,
  shape,
  values: Float32Array.from(values),
})
export const integers = (name: string, values: readonly number[]): Constant => ({
  name,
  shape: [values.length],
  values: BigInt64Array.from(values.map(BigInt)),
})
