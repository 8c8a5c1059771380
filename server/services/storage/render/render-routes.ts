// Routes of transformed images.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { isNotModified, objectHeaders, type HeaderOptions } from '../object-headers.ts'
import {
  findAndRead,
  findAnyObject,
  findPublicObject,
  findVisibleObject,
  type StoredObject,
} from '../object-reading.ts'
import { keyOf, objectResponse } from '../object-routes.ts'
import type { CallerKind } from '../callers.ts'
import { placeOf, tokenOf, urlIn } from '../signed-tokens.ts'
import { storageErrors } from '../storage-error.ts'
import { defineStorageRoute, type StorageCall, type StorageRoute } from '../dialect.ts'
import {
  describe,
  transformationOf,
  TransformationError,
  transformationOfClaim,
  withinLimits,
  type Transformation,
} from './transformation.ts'

type Call = StorageCall<undefined>

/** What is rendered, and how. */
type Rendering = {
  readonly transformation: Transformation
  readonly expires?: Date
  readonly find: () => Promise<StoredObject>
}

/** Aborts when the client disconnects before the response is complete. */
function disconnection(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Whether the client names WebP among the types that it accepts. */
const acceptsWebp = ({ headers: { accept = '' } }: IncomingMessage): boolean =>
  accept.split(',').some((part) => /^\s*image\/webp\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:;|$)).*)?$/i.test(part))

async function render(call: Call, { transformation: asked, expires, find }: Rendering): Promise<undefined> {
  const { context, request, response, query } = call
  const { storageImageTransformationLimitMinSize: min, storageImageTransformationLimitMaxSize: max } =
    context.settings()
  const transformation = withinLimits(asked, { min, max })
  const options: HeaderOptions = { download: query.get('download'), ...(expires ? { expires } : {}) }
  const task = { transformation, acceptsWebp: acceptsWebp(request) }
  const signal = disconnection(response)
  return findAndRead(find, async (object): Promise<undefined> => {
    const { metadata } = object
    if (isNotModified(metadata, request.headers)) {
      response.writeHead(304, objectHeaders(metadata, request.headers, options)).end()
      return
    }
    const read = async (): Promise<Buffer> => buffer(await context.store.get(object))
    const image = await context.images.render(metadata.size ?? 0, read, task, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (!image) return
    const described = describe(transformation)
    response.appendHeader('Vary', 'Accept')
    response.writeHead(200, {
      ...objectHeaders({ ...metadata, mimetype: image.type }, request.headers, options),
      'Content-Length': image.bytes.length,
      ...(described === '' ? {} : { 'X-Transformations': described }),
    })
    response.end(image.bytes)
  })
}

/** @throws StorageError 400 */
function ofQuery({ query }: Call): Transformation {
  try {
    return transformationOf(query)
  } catch (error) {
    if (error instanceof TransformationError) throw storageErrors.validation(error.message)
    throw error
  }
}

const renderPublic = (call: Call): Promise<undefined> => {
  const { bucket, name } = keyOf(call)
  return render(call, { transformation: ofQuery(call), find: () => findPublicObject(call.context, bucket, name) })
}

const renderAuthenticated = (call: Call): Promise<undefined> => {
  const { bucket, name } = keyOf(call)
  return render(call, { transformation: ofQuery(call), find: () => findVisibleObject(call, bucket, name) })
}

/** Only the transformation of the token counts. */
async function renderSigned(call: Call): Promise<undefined> {
  const { context } = call
  const grant = await context.signedTokens.verifyDownload(tokenOf(call), urlIn(call))
  const { transformations = '', exp } = grant
  const { bucket, name } = placeOf(grant)
  await render(call, {
    transformation: transformationOfClaim(transformations),
    expires: new Date(exp * 1000),
    find: () => findAnyObject(context, bucket, name),
  })
}

const queryDescriptions = {
  width: 'Pixels.',
  height: 'Pixels.',
  resize: '`cover` crops, `contain` fits the image in, `fill` distorts it.',
  quality: 'From 20 to 100.',
  format: '`origin`, `avif` or `webp`. By default WebP if the client accepts it.',
  gravity: 'Which part is kept when the image is cropped: `no`, `so`, `ea`, `we`, `noea` …, `ce`, `sm`, `fp`.',
}
const download = { download: 'Makes browsers save the image: under this name, or its own if empty.' }

const image = (
  kind: 'public' | 'authenticated' | 'sign',
  caller: CallerKind,
  summary: string,
  handle: (call: Call) => Promise<undefined>,
): StorageRoute =>
  defineStorageRoute({
    method: 'get',
    path: `/render/image/${kind}/{bucket}/{*name}`,
    id: `render${kind[0]?.toUpperCase()}${kind.slice(1)}Image`,
    summary,
    caller,
    operation: `storage.render.image_${kind}`,
    query:
      kind === 'sign' ? { token: 'The token of the signed URL.', ...download } : { ...queryDescriptions, ...download },
    success: [200, objectResponse],
    errors: { 400: 'the object is not an image, or the parameters are not valid', 404: 'there is no such object' },
    handler: (call) => {
      const { settings } = call.context
      if (!settings().storageImageTransformationEnabled) throw storageErrors.notFound('GET', call.target)
      return handle(call)
    },
  })

export const renderRoutes: readonly StorageRoute[] = [
  image('public', 'anyone', 'Resize an image of a public bucket', renderPublic),
  image('authenticated', 'required', 'Resize an image as a user', renderAuthenticated),
  image('sign', 'anyone', 'Resize an image by a signed URL', renderSigned),
]
