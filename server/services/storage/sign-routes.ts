// Signed URLs: for downloads and uploads by people without a token.
import { dto, record, text } from '../../http/service-response.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { findAnyObject, findVisibleObject } from './object-reading.ts'
import { keyOf, objectResponse, readResponses } from './object-routes.ts'
import { sendObject, sendObjectHead } from './object-sending.ts'
import { requirePermission } from './object-writing.ts'
import { claimOf, withinLimits, type Transformation } from './render/transformation.ts'
import { placeOf, tokenOf, urlIn, type DownloadGrant } from './signed-tokens.ts'
import { storageErrors } from './storage-error.ts'
import type { StorageContext } from './storage-context.ts'
import { storageAdmin } from './storage-database.ts'
import { defineStorageRoute, type StorageCall, type StorageReply, type StorageRoute } from './dialect.ts'
import { decodedMetadata } from './user-metadata.ts'
import { uploadObject } from './uploads.ts'

type SignBody = { readonly expiresIn: number; readonly transform?: Transformation }

type SignManyBody = { readonly expiresIn: number; readonly paths: readonly string[] }

/** The names of those of some objects that the caller can see. */
const visibleNames = new JsonStatement(
  `select to_json(objects.name) from storage.objects
   where objects.bucket_id = $1
     and objects.name = any (array(select names.name from json_array_elements_text($2::json) as names (name)))`,
  { access: 'read' },
)

const hidden = 'Either the object does not exist or you do not have access to it'

/** The path of a URL below `/storage/v1`, encoded. Clients encode it again, which `verifyDownload` permits. */
const urlOf = (path: string, bucket: string, name: string, token: string): string =>
  `${path}/${[bucket, ...name.split('/')].map(encodeURIComponent).join('/')}?token=${token}`

async function sign(call: StorageCall<SignBody>): Promise<StorageReply> {
  const { context, scope, body } = call
  const { bucket, name } = keyOf(call)
  await context.names.require(name)
  await findVisibleObject({ context, scope }, bucket, name)
  const grant: DownloadGrant = { url: `${bucket}/${name}`, ...transformationOf(context, body.transform) }
  const token = await context.signedTokens.signDownload(grant, body.expiresIn)
  const path = grant.transformations === undefined ? '/object/sign' : '/render/image/sign'
  return { json: { signedURL: urlOf(path, bucket, name, token) } }
}

/** The claims of a transformation, if there is one and images are transformed. */
function transformationOf(
  { settings }: StorageContext,
  transformation: Transformation = {},
): Pick<DownloadGrant, 'transformations' | 'format'> {
  const {
    storageImageTransformationEnabled: isEnabled,
    storageImageTransformationLimitMinSize: min,
    storageImageTransformationLimitMaxSize: max,
  } = settings()
  const claim = isEnabled ? claimOf(withinLimits(transformation, { min, max })) : ''
  return claim === '' ? {} : { transformations: claim, format: transformation.format }
}

async function signMany({ context, scope, path, body }: StorageCall<SignManyBody>): Promise<StorageReply> {
  const { bucket = '' } = path
  const { expiresIn, paths } = body
  const found = await context.database.ask(scope, visibleNames, [bucket, JSON.stringify(paths)])
  const names = new Set(found)
  const signed = paths.map(async (name) => {
    if (!names.has(name)) return { error: hidden, path: name, signedURL: null }
    const token = await context.signedTokens.signDownload({ url: `${bucket}/${name}` }, expiresIn)
    return { error: null, path: name, signedURL: urlOf('/object/sign', bucket, name, token) }
  })
  return { json: await Promise.all(signed) }
}

async function signUpload(call: StorageCall<undefined>): Promise<StorageReply> {
  const { context, scope, caller, request } = call
  const { bucket, name } = keyOf(call)
  await context.names.requireNew(name)
  const {
    'x-upsert': upsert,
    'x-metadata': given,
    'content-type': mimetype,
    'content-length': length,
  } = request.headers
  const userMetadata = typeof given === 'string' ? decodedMetadata(given) : undefined
  const grant = { isUpsert: upsert === 'true', owner: caller.owner }
  await requirePermission(
    { context, scope },
    { bucket, name, userMetadata, ...grant },
    {
      ...(mimetype === undefined ? {} : { mimetype }),
      ...(length === undefined ? {} : { contentLength: Number(length) }),
    },
  )
  const token = await context.signedTokens.signUpload(
    { url: `${bucket}/${name}`, upsert: grant.isUpsert, owner: grant.owner ?? undefined },
    context.settings().storageUploadSignedUrlExpirationTime,
  )
  return { json: { url: urlOf('/object/upload/sign', bucket, name, token), token } }
}

async function upload(call: StorageCall<undefined>): Promise<StorageReply> {
  const { context, scope } = call
  const grant = await context.signedTokens.verifyUpload(tokenOf(call), urlIn(call))
  const { owner = null, upsert } = grant
  const { bucket, name } = placeOf(grant)
  // The caller who signed the URL was permitted to upload.
  await uploadObject(
    { ...call, scope: { ...scope, identity: storageAdmin } },
    { bucket, name, owner, isUpsert: upsert },
  )
  return { json: { Key: `${bucket}/${name}` } }
}

async function download(call: StorageCall<undefined>): Promise<StorageReply> {
  const { context, query, request } = call
  const grant = await context.signedTokens.verifyDownload(tokenOf(call), urlIn(call))
  const { exp, transformations } = grant
  const { bucket, name } = placeOf(grant)
  // A link to a small image gives no access to the large one.
  if (transformations !== undefined) throw storageErrors.invalidSignature()
  const find = () => findAnyObject(context, bucket, name)
  const options = { download: query.get('download'), expires: new Date(exp * 1000) }
  if (request.method === 'HEAD') return sendObjectHead(call, await find(), options)
  return sendObject(call, find, options)
}

const missing = { 404: 'there is no such object, or you may not see it' }
const tokenErrors = { 400: 'the token is invalid, has expired, or is for another object or action', ...missing }
const tokenQuery = { token: 'Of the signed URL.' }

const downloadRoute = (method: 'get' | 'head'): StorageRoute =>
  defineStorageRoute({
    method,
    path: '/object/sign/{bucket}/{*name}',
    id: `${method}SignedObject`,
    summary: 'Download an object by a signed URL',
    caller: 'anyone',
    operation: 'storage.object.get_signed',
    query: { ...tokenQuery, download: 'Makes browsers save the object: under this name, or its own if empty.' },
    headers: { Range: 'A part of the object: `bytes=0-99`.' },
    success: [200, objectResponse],
    errors: tokenErrors,
    responses: readResponses,
    handler: download,
  })

export const signRoutes: readonly StorageRoute[] = [
  defineStorageRoute<SignBody>({
    method: 'post',
    path: '/object/sign/{bucket}/{*name}',
    id: 'signObject',
    summary: 'Create a URL by which everyone can download an object',
    description: 'With a transformation, the URL is that of the transformed image.',
    caller: 'required',
    operation: 'storage.object.sign',
    body: dto('StorageSignDto'),
    success: [200, { description: 'The URL, below `/storage/v1`.', schema: record({ signedURL: text }) }],
    errors: missing,
    handler: sign,
  }),
  defineStorageRoute<SignManyBody>({
    method: 'post',
    path: '/object/sign/{bucket}',
    id: 'signObjects',
    summary: 'Create URLs by which everyone can download objects',
    caller: 'required',
    operation: 'storage.object.sign_many',
    body: dto('StorageSignManyDto'),
    success: [
      200,
      { description: 'A URL or an error for each object.', schema: { type: 'array', items: { type: 'object' } } },
    ],
    handler: signMany,
  }),
  downloadRoute('get'),
  downloadRoute('head'),
  defineStorageRoute({
    method: 'post',
    path: '/object/upload/sign/{bucket}/{*name}',
    id: 'signUpload',
    summary: 'Create a URL by which everyone can upload an object once',
    caller: 'required',
    operation: 'storage.object.sign_upload_url',
    headers: { 'X-Upsert': '`true` permits to replace an existing object, and to upload several times.' },
    success: [
      200,
      { description: 'The URL, below `/storage/v1`, and its token.', schema: record({ url: text, token: text }) },
    ],
    errors: { 409: 'the object exists already' },
    handler: signUpload,
  }),
  defineStorageRoute({
    method: 'put',
    path: '/object/upload/sign/{bucket}/{*name}',
    id: 'uploadBySignedUrl',
    summary: 'Upload an object by a signed URL',
    caller: 'anyone',
    operation: 'storage.object.upload_signed',
    query: tokenQuery,
    bodies: { '*/*': { type: 'string', format: 'binary' }, 'multipart/form-data': { type: 'object' } },
    success: [200, { description: 'The object was uploaded.', schema: record({ Key: text }) }],
    errors: {
      ...tokenErrors,
      409: 'the object exists already',
      413: 'the object is larger than allowed',
      415: 'the bucket does not allow the media type',
    },
    handler: upload,
  }),
]
