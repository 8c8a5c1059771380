// The options for storing predictions, from the query string or fields of the body.
import type { IncomingMessage } from 'node:http'
import { searchOf } from '../../http/query-string.ts'
import { problems } from './problem.ts'
import type { Upload } from './uploaded-images.ts'

export type StoreOptions = {
  readonly store: boolean
  /** Whether the images themselves are kept, too. */
  readonly keepImage: boolean
  readonly imageSource: string
  /** One for each image, or empty. */
  readonly imageUris: readonly string[]
}

/** Their names in the query string and in the body. */
export const optionNames: ReadonlySet<string> = new Set(['store', 'keep_image', 'image_source', 'image_uri'])

const yes = new Set(['true', '1', 'on', 'yes'])
const no = new Set(['false', '0', 'off', 'no', ''])

const defaultSource = 'file'

/** The query parameters of a request, each name with all of its values. */
export function queryOf(request: IncomingMessage): ReadonlyMap<string, readonly string[]> {
  const query = searchOf(request.url ?? '')
  return new Map([...new Set(query.keys())].map((name) => [name, query.getAll(name)]))
}

/**
 * Reads the options. A field of the body takes precedence over a query parameter.
 *
 * @param keepsImages whether this server can
 * @throws Problem 422
 */
export function storeOptions(request: IncomingMessage, { fields, images }: Upload, keepsImages: boolean): StoreOptions {
  const query = queryOf(request)
  const valuesOf = (name: string): readonly [place: string, values: readonly string[]] => {
    const inBody = fields.get(name)
    return inBody ? ['body', inBody] : ['query', query.get(name) ?? []]
  }
  const flag = (name: string): boolean => {
    const [place, values] = valuesOf(name)
    const value = (values.at(-1) ?? '').toLowerCase()
    if (!yes.has(value) && !no.has(value)) {
      throw problems.invalid('bool_parsing', [place, name], 'Input should be a valid boolean: true or false')
    }
    return yes.has(value)
  }
  const store = flag('store')
  const keepImage = flag('keep_image')
  const refuse = (message: string): never => {
    throw problems.invalid('value_error', [valuesOf('keep_image')[0], 'keep_image'], message)
  }
  if (keepImage && !keepsImages) refuse('This server does not keep images')
  if (keepImage && !store) refuse('An image is kept with its run: set store, too')
  if (keepImage && valuesOf('image_uri')[1].length > 0)
    refuse('A kept image has an address of its own: leave out image_uri')
  const [place, imageUris] = valuesOf('image_uri')
  if (imageUris.length > 0 && imageUris.length !== images.length) {
    throw problems.invalid(
      'value_error',
      [place, 'image_uri'],
      `There are ${images.length} images, but ${imageUris.length} addresses`,
    )
  }
  return { store, keepImage, imageSource: valuesOf('image_source')[1].at(-1) ?? defaultSource, imageUris }
}
