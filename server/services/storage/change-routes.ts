// Moves, copies and removes objects.
import { dto } from '../../http/service-response.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { Place } from './copied-bytes.ts'
import { requireBucketName } from './names.ts'
import { copyObject } from './object-copy.ts'
import { moveObject } from './object-move.ts'
import { objectJson } from './object-row.ts'
import { removeLater } from './object-writing.ts'
import { defineStorageRoute, type StorageRoute } from './dialect.ts'
import { decodedMetadata } from './user-metadata.ts'

type MoveBody = {
  readonly bucketId: string
  readonly sourceKey: string
  readonly destinationBucket?: string
  readonly destinationKey: string
}

type CopyBody = MoveBody & {
  readonly copyMetadata?: boolean
  readonly metadata?: { readonly cacheControl?: string; readonly mimetype?: string }
}

type RemoveBody = { readonly prefixes: readonly string[] }

/** The further columns are name and version. Rows that the caller cannot see are skipped. */
const remove = new JsonStatement(
  `delete from storage.objects as removed
   where removed.bucket_id = $1
     and removed.name = any (array(select names.name from json_array_elements_text($2::json) as names (name)))
   returning ${objectJson('removed')}, removed.name, removed.version`,
  { access: 'write' },
)

/** @throws StorageError 400 `InvalidBucketName` */
function sourceAndTarget({ bucketId, sourceKey, destinationBucket = '', destinationKey }: MoveBody): {
  readonly from: Place
  readonly to: Place
} {
  const target = destinationBucket === '' ? bucketId : destinationBucket
  requireBucketName(bucketId)
  requireBucketName(target)
  return { from: { bucket: bucketId, name: sourceKey }, to: { bucket: target, name: destinationKey } }
}

export const changeRoutes: readonly StorageRoute[] = [
  defineStorageRoute<MoveBody>({
    method: 'post',
    path: '/object/move',
    id: 'moveObject',
    summary: 'Move an object, also to another bucket',
    description: 'The id of the object stays the same. Policies must permit you to select and to update it.',
    caller: 'required',
    operation: 'storage.object.move',
    body: dto('StorageMoveDto'),
    success: [200, { description: 'The object has been moved.', schema: { type: 'object' } }],
    errors: { 404: 'there is no such object, or you may not change it; or no such bucket', 409: 'the target exists' },
    handler: async ({ context, scope, caller, body }) => {
      const { from, to } = sourceAndTarget(body)
      await moveObject(context, scope, from, to, caller.owner)
      return { json: { message: 'Successfully moved' } }
    },
  }),
  defineStorageRoute<CopyBody>({
    method: 'post',
    path: '/object/copy',
    id: 'copyObject',
    summary: 'Copy an object, also to another bucket',
    description: 'Policies must permit you to select the source, and to insert the copy.',
    caller: 'required',
    operation: 'storage.object.copy',
    body: dto('StorageCopyDto'),
    headers: {
      'x-upsert': '`true` replaces an existing object, which policies must permit you to select and to update.',
      'x-metadata': 'Metadata of the copy, if that of the source is not copied: a JSON object in base64.',
    },
    success: [200, { description: 'The copy.', schema: { type: 'object' } }],
    errors: { 404: 'there is no such object, or you may not see it; or no such bucket', 409: 'the target exists' },
    handler: async ({ context, scope, caller, request, body }) => {
      const { from, to } = sourceAndTarget(body)
      const { copyMetadata = true, metadata = {} } = body
      const given = request.headers['x-metadata']
      const { id, row } = await copyObject(context, scope, from, to, {
        owner: caller.owner,
        isUpsert: request.headers['x-upsert'] === 'true',
        copyMetadata,
        metadata,
        userMetadata: typeof given === 'string' ? decodedMetadata(given) : undefined,
      })
      return { json: { Id: id, Key: `${to.bucket}/${to.name}`, ...row } }
    },
  }),
  defineStorageRoute<RemoveBody>({
    method: 'delete',
    path: '/object/{bucket}',
    id: 'removeObjects',
    summary: 'Remove objects',
    description: 'Objects that do not exist, or that policies do not permit you to select and to delete, are skipped.',
    caller: 'required',
    operation: 'storage.object.delete_many',
    body: dto('StorageRemoveDto'),
    success: [200, { description: 'The removed objects.', schema: { type: 'array', items: { type: 'object' } } }],
    handler: async ({ context, scope, path: { bucket = '' }, body }) => {
      const removed = await context.database.askRows(scope, remove, [bucket, JSON.stringify(body.prefixes)])
      removeLater(
        context,
        ...removed.map(([, name, version]) => ({ bucket, name: name ?? '', version: version ?? '' })),
      )
      return { text: `[${removed.map(([row]) => row).join(',')}]` }
    },
  }),
]
