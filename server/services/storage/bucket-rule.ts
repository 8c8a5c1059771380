// What a bucket accepts: the rule for all bytes that become an object of it, by whatever route.
import { JsonStatement } from '../../postgres/json-statement.ts'
import { requireStoredContent } from './content-sniffing.ts'
import { isFolderPlaceholder, requireBucketName } from './names.ts'
import type { ObjectKey } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'
import { storageErrors } from './storage-error.ts'

/** What a bucket allows. */
export type BucketLimits = {
  /** Bytes; null for the limit of the server. */
  readonly fileSizeLimit: number | null
  /** Empty for all. */
  readonly allowedMimeTypes: readonly string[]
}

const limits = new JsonStatement(
  `select json_build_object('fileSizeLimit', file_size_limit, 'allowedMimeTypes', coalesce(allowed_mime_types, '{}'))
   from storage.buckets where id = $1`,
  { access: 'read', hasNoEffect: true },
)

/**
 * The limits of a bucket, whether the caller can see it or not.
 *
 * @throws StorageError 400 `InvalidBucketName`; 404 `NoSuchBucket`
 */
export async function bucketLimits(
  { database }: Pick<StorageContext, 'database'>,
  bucket: string,
): Promise<BucketLimits> {
  requireBucketName(bucket)
  const [row] = await database.admin(limits, [bucket])
  if (!row) throw storageErrors.noSuchBucket()
  return JSON.parse(row[0] ?? 'null') as BucketLimits
}

/** Maximum bytes of an object. */
export function largestUpload(
  { settings }: Pick<StorageContext, 'settings'>,
  { fileSizeLimit }: BucketLimits,
  name: string,
): number {
  if (isFolderPlaceholder(name)) return 0
  const { storageFileSizeLimit } = settings()
  return fileSizeLimit === null ? storageFileSizeLimit : Math.min(fileSizeLimit, storageFileSizeLimit)
}

/** The type and the subtype of a media type, in lower case, without its parameters. */
const essenceOf = (type: string): readonly (string | undefined)[] =>
  (type.split(';', 1)[0] ?? '').trim().toLowerCase().split('/')

/**
 * Checks a media type against those that a bucket allows: `image/png`, `image/*`. Parameters are not compared.
 *
 * @throws StorageError 415 `InvalidMimeType`
 */
export function requireAllowedType(type: string, { allowedMimeTypes }: BucketLimits, name: string): void {
  if (allowedMimeTypes.length === 0 || isFolderPlaceholder(name)) return
  const [kind, subtype] = essenceOf(type)
  const isAllowed = allowedMimeTypes.some((allowed) => {
    const [allowedKind, allowedSubtype] = essenceOf(allowed)
    return kind === allowedKind && (allowedSubtype === '*' || allowedSubtype === subtype)
  })
  if (!isAllowed) throw storageErrors.invalidMimeType(type)
}

/** What the rule looks at: bytes, and the media type. */
export type CheckedFile = { readonly size: number; readonly type: string }

/**
 * Checks size and type of bytes that are to become an object.
 *
 * @throws StorageError 413 `EntityTooLarge`, 415 `InvalidMimeType`
 */
export function requireAllowedFile(
  context: Pick<StorageContext, 'settings'>,
  allowed: BucketLimits,
  name: string,
  { size, type }: CheckedFile,
): void {
  if (size > largestUpload(context, allowed, name)) throw storageErrors.tooLarge()
  requireAllowedType(type, allowed, name)
}

/**
 * A version whose bytes its bucket accepts. Whatever writes the row of an object requires one, and only the functions here
 * create it, so that no route can leave out the rule.
 */
export class AcceptedVersion {
  /** Private, so that nothing else has this type. */
  readonly #key: ObjectKey

  private constructor(key: ObjectKey) {
    this.#key = key
  }

  get key(): ObjectKey {
    return this.#key
  }

  /**
   * Of bytes whose beginning `sniffed` has looked at while they arrived.
   *
   * @throws StorageError 413, 415
   */
  static received(
    context: Pick<StorageContext, 'settings'>,
    allowed: BucketLimits,
    key: ObjectKey,
    file: CheckedFile,
  ): AcceptedVersion {
    requireAllowedFile(context, allowed, key.name, file)
    return new AcceptedVersion(key)
  }

  /**
   * Of bytes that are in the store.
   *
   * @throws StorageError 413, 415; MissingBytesError
   */
  static async stored(
    context: Pick<StorageContext, 'settings' | 'store'>,
    allowed: BucketLimits,
    key: ObjectKey,
    file: CheckedFile,
  ): Promise<AcceptedVersion> {
    requireAllowedFile(context, allowed, key.name, file)
    await requireStoredContent(context.store, key, file)
    return new AcceptedVersion(key)
  }

  /** Of an object that gets another name in its bucket, which has accepted it before, perhaps with other limits. */
  static renamed(key: ObjectKey): AcceptedVersion {
    return new AcceptedVersion(key)
  }
}
