// The storage service at `/storage/v1`.
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { FileStore } from '../services/storage/backends/file-store.ts'
import type { ObjectStore } from '../services/storage/object-store.ts'
import { createStorage, type StorageOptions, type StorageService } from '../services/storage/create-storage.ts'

export type ProgramStorageOptions = Omit<StorageOptions, 'store' | 'settings'> & {
  /** The settings at the start. */
  readonly config: Config
  /** Whether the embedded database is used. */
  readonly isEmbedded: boolean
  readonly current: () => Config
}

/** The folder of the objects could not be used. The message says why and what to do. */
export class StorageFolderError extends Error {
  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `The folder of the storage service ${folder} cannot be used (${why}). Set STORAGE_FILE_BACKEND_PATH to another folder, or leave the service out: SERVICES=rest,auth.`,
      { cause },
    )
    this.name = 'StorageFolderError'
  }
}

/** The S3 bucket could not be used. The message says why and what to do. */
export class StorageBucketError extends Error {
  constructor(why: string, cause?: unknown) {
    super(`The storage service cannot use S3: ${why}. Otherwise leave the service out: SERVICES=rest,auth.`, { cause })
    this.name = 'StorageBucketError'
  }
}

/** @throws StorageFolderError, StorageBucketError */
export async function startStorage({
  config,
  isEmbedded,
  current,
  ...options
}: ProgramStorageOptions): Promise<StorageService> {
  const store = config.storageBackend === 's3' ? await openBucket(config) : await openFolder(config, isEmbedded)
  return createStorage({ ...options, settings: current, store })
}

async function openBucket({ storageS3Bucket, storageS3Endpoint, storageS3Region }: Config): Promise<ObjectStore> {
  if (storageS3Bucket === null) throw new StorageBucketError('set STORAGE_S3_BUCKET to the name of a bucket')
  const { S3Store } = await import('../services/storage/backends/s3-store.ts')
  try {
    return await S3Store.open({ bucket: storageS3Bucket, endpoint: storageS3Endpoint, region: storageS3Region })
  } catch (error) {
    throw new StorageBucketError(error instanceof Error ? error.message : String(error), error)
  }
}

async function openFolder({ storageFileBackendPath, dataDir }: Config, isEmbedded: boolean): Promise<ObjectStore> {
  const folder = resolve(storageFileBackendPath ?? join(dataDir, 'storage'))
  const store = new FileStore(folder)
  // With a database of its own and no folder, a server may have no use for storage: the first upload creates the folder.
  if (isEmbedded || storageFileBackendPath !== null) {
    await store.prepare().catch((error: unknown) => {
      throw new StorageFolderError(folder, error)
    })
  }
  return store
}
