// Routes of resumable uploads: the protocol tus 1.0.0. https://tus.io/protocols/resumable-upload
import { text } from '../../../http/service-response.ts'
import type { ServiceResponse } from '../../../http/service-route.ts'
import { defineStorageRoute, type StorageMethod, type StorageRoute } from '../dialect.ts'
import { resumablePath } from './upload-id.ts'

type TusRoute = {
  readonly method: StorageMethod
  readonly name: string
  readonly summary: string
  readonly operation: string
  readonly success: readonly [number, ServiceResponse]
  readonly headers: Readonly<Record<string, string>>
}

const version = { 'Tus-Resumable': '`1.0.0`' }
const offset = { 'Upload-Offset': 'Bytes that the server has.' }
const plain = (description: string): ServiceResponse => ({ description, media: 'text/plain', schema: text })

/** Errors in plain text, with their true statuses. */
const failures: Readonly<Record<number, ServiceResponse>> = {
  400: plain('The request, the token or the metadata is not valid.'),
  403: plain('A policy refuses the upload.'),
  404: plain('There is no such bucket or upload.'),
  409: plain('The object exists already, or the offset is not that of the upload.'),
  410: plain('The upload has expired.'),
  412: plain('`Tus-Resumable` is missing.'),
  413: plain('The object is larger than allowed or declared.'),
  415: plain('The bucket does not allow the media type.'),
}

const creation: TusRoute = {
  method: 'post',
  name: 'create',
  summary: 'Begin a resumable upload',
  operation: 'storage.tus.upload.create',
  success: [
    201,
    {
      description: 'The upload has begun.',
      headers: { Location: 'Address of the upload.', 'Upload-Expires': 'When it is removed.' },
    },
  ],
  headers: {
    ...version,
    'Upload-Length': 'Bytes of the object.',
    'Upload-Defer-Length': '`1` if the length is declared later.',
    'Upload-Metadata':
      'Keys and values in base64: `bucketName`, `objectName`, `contentType`, `cacheControl` (seconds), `metadata` (JSON).',
    'X-Upsert': '`true` replaces an existing object.',
  },
}

const ofUpload: readonly TusRoute[] = [
  {
    method: 'patch',
    name: 'append',
    summary: 'Append bytes to a resumable upload',
    operation: 'storage.tus.upload.part',
    success: [204, { description: 'The bytes are stored. The object exists when none are missing.', headers: offset }],
    headers: {
      ...version,
      'Upload-Offset': 'Position of the first byte.',
      'Upload-Length': 'Bytes of the object, if they were not known before.',
    },
  },
  {
    method: 'head',
    name: 'find',
    summary: 'Where to resume an upload',
    operation: 'storage.tus.upload.get',
    success: [200, { description: 'The upload.', headers: offset }],
    headers: version,
  },
  {
    method: 'delete',
    name: 'abandon',
    summary: 'Abandon a resumable upload',
    operation: 'storage.tus.upload.delete',
    success: [204, { description: 'The upload was removed.' }],
    headers: version,
  },
]

const options: TusRoute = {
  method: 'options',
  name: 'describe',
  summary: 'What the server knows of the protocol',
  operation: 'storage.tus.options',
  success: [204, { description: 'Versions and extensions.' }],
  headers: {},
}

const signature = { 'X-Signature': 'Token of a signed URL for the upload.' }

/** @param isSigned whether the token of a signed URL permits the uploads */
function routes(isSigned: boolean): readonly StorageRoute[] {
  const path = isSigned ? `${resumablePath}/sign` : resumablePath
  const define = ({ method, name, summary, operation, success, headers }: TusRoute, to: string, hidden: boolean) =>
    defineStorageRoute({
      method,
      success,
      hidden,
      path: to,
      id: `${name}${isSigned ? 'Signed' : ''}ResumableUpload`,
      summary: isSigned ? `${summary} by a signed URL` : summary,
      caller: isSigned || method === 'options' ? 'anyone' : 'required',
      operation: isSigned ? `${operation}_signed` : operation,
      headers: isSigned ? { ...headers, ...signature } : headers,
      responses: failures,
      // The library of the protocol is large.
      handler: async (call) => (await import('./tus-request.ts')).handleTus(call, isSigned),
    })
  const below = `${path}/{*id}`
  return [
    define(creation, path, false),
    // With a slash at the end.
    define(creation, below, true),
    define(options, path, true),
    define(options, below, true),
    ...ofUpload.map((route) => define(route, below, false)),
  ]
}

export const tusRoutes: readonly StorageRoute[] = [...routes(false), ...routes(true)]
