// Reads the metadata of an ONNX file, which the runtime's binding does not expose.
//
// A file is one `ModelProto` in Protocol Buffers encoding. Only its top-level fields are decoded; the graph with the
// weights is skipped unread.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, https://protobuf.dev/programming-guides/encoding/
import { open, type FileHandle } from 'node:fs/promises'

/** `ModelProto.metadata_props`, and the fields of its entries. */
const metadataField = 14
const keyField = 1
const valueField = 2

/** Maximum bytes of one entry. Exporters write far less. */
const longestEntry = 1024 * 1024
const longestVarint = 10

/** Wire types. */
const varint = 0
const fixed64 = 1
const delimited = 2
const fixed32 = 5

/** Reads bytes starting at a position, fewer at the end of the file. */
type Read = (position: number, length: number) => Promise<Buffer>

/**
 * The metadata that the exporter wrote into a model: `names`, `task`, `imgsz`, `stride` …
 *
 * @throws Error when the file cannot be read or is not in Protocol Buffers encoding
 */
export async function readMetadata(path: string): Promise<ReadonlyMap<string, string>> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    return await metadataOf(reader(file), size)
  } finally {
    await file.close()
  }
}

const reader =
  (file: FileHandle): Read =>
  async (position, length) => {
    const buffer = Buffer.alloc(length)
    const { bytesRead } = await file.read(buffer, 0, length, position)
    return buffer.subarray(0, bytesRead)
  }

async function metadataOf(read: Read, size: number): Promise<ReadonlyMap<string, string>> {
  const metadata = new Map<string, string>()
  let position = 0
  while (position < size) {
    const head = await read(position, 2 * longestVarint)
    const { field, type, length, begin } = fieldAt(head, 0)
    const end = position + begin + length
    if (end > size) throw notOnnx()
    if (field === metadataField && type === delimited && length <= longestEntry) {
      const [key, value] = entryOf(await read(position + begin, length))
      if (key !== '') metadata.set(key, value)
    }
    position = end
  }
  return metadata
}

function entryOf(bytes: Buffer): readonly [key: string, value: string] {
  let [key, value] = ['', '']
  for (let at = 0; at < bytes.length;) {
    const { field, type, length, begin } = fieldAt(bytes, at)
    const end = at + begin + length
    if (end > bytes.length) throw notOnnx()
    const text = type === delimited ? bytes.toString('utf8', at + begin, end) : ''
    if (field === keyField) key = text
    else if (field === valueField) value = text
    at = end
  }
  return [key, value]
}

/** A field's number and wire type. Its content starts `begin` bytes after the field. */
type Field = { readonly field: number; readonly type: number; readonly length: number; readonly begin: number }

function fieldAt(bytes: Buffer, at: number): Field {
  const tag = varintAt(bytes, at)
  const [field, type] = [Math.floor(tag.value / 8), tag.value % 8]
  const after = at + tag.length
  switch (type) {
    case varint:
      return { field, type, length: varintAt(bytes, after).length, begin: tag.length }
    case fixed64:
      return { field, type, length: 8, begin: tag.length }
    case fixed32:
      return { field, type, length: 4, begin: tag.length }
    case delimited: {
      const length = varintAt(bytes, after)
      return { field, type, length: length.value, begin: tag.length + length.length }
    }
    default:
      throw notOnnx()
  }
}

function varintAt(bytes: Buffer, at: number): { readonly value: number; readonly length: number } {
  let value = 0
  for (let index = 0; index < longestVarint; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) break
    // Multiplies, because shifting is limited to 32 bits.
    value += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) return { value, length: index + 1 }
  }
  throw notOnnx()
}

const notOnnx = (): Error => new Error('it is not an ONNX file')
