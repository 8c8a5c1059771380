// The settings of `/storage/v1`. Their environment variables have the names of Supabase's storage; the table is in
// `config/storage-settings.ts`.

export type StorageBackend = 'file' | 's3'

export type StorageSettings = {
  /** Maximum bytes of an object, which a bucket can only lower. */
  readonly storageFileSizeLimit: number
  /** Whether names of objects may have letters beyond ASCII. Null: unless Supabase's rule for names applies. */
  readonly storageUnicodeNames: boolean | null
  /** Seconds that a signed URL for an upload is valid. */
  readonly storageUploadSignedUrlExpirationTime: number
  readonly storageBackend: StorageBackend
  /** Folder of the objects. Null: `storage` in the data folder. */
  readonly storageFileBackendPath: string | null
  /** Bytes of small objects that each process keeps in memory; 0 disables that. */
  readonly storageMemoryCache: number
  /** Milliseconds that a resumable upload may take. */
  readonly storageTusUrlExpiryMs: number
  readonly storageImageTransformationEnabled: boolean
  /** Pixels. */
  readonly storageImageTransformationLimitMinSize: number
  /** Pixels. */
  readonly storageImageTransformationLimitMaxSize: number
  /** Public URL of this service, `https://example.org/storage/v1`. Null: that of the request. */
  readonly storagePublicUrl: string | null
  readonly storageS3Bucket: string | null
  /** Null: Amazon's. */
  readonly storageS3Endpoint: string | null
  readonly storageS3Region: string
}
