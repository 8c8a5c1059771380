// The settings of `/storage/v1`, with the names of Supabase's storage.
import type { StorageSettings } from '../services/storage/settings.ts'
import * as authTypes from './auth-setting-types.ts'
import type { Setting, SettingType } from './setting.ts'
import * as types from './setting-types.ts'

type Words<T> = Pick<Setting<T>, 'description' | 'defaultInWords' | 'example'>

/**
 * A setting of `/storage/v1`.
 *
 * @param variables names in the environment, the main one first. In the configuration file it has dashes and is in lower
 *   case
 */
const storage = <T>(
  [variable, ...others]: readonly [string, ...string[]],
  type: SettingType<T>,
  byDefault: T,
  words: Words<T>,
  change: Setting<T>['change'] = 'reload',
): Setting<T> => ({
  name: variable.toLowerCase().replaceAll('_', '-'),
  variables: [variable, ...others],
  type,
  default: byDefault,
  ...words,
  origin: 'rowhouse',
  change,
})

const mebibyte = 1024 * 1024
/** Bytes of an S3 object. */
const largestObject = 5 * 1024 ** 4

export const storageSettings: { readonly [K in keyof StorageSettings]: Setting<StorageSettings[K]> } = {
  storageFileSizeLimit: storage(
    ['FILE_SIZE_LIMIT', 'UPLOAD_FILE_SIZE_LIMIT'],
    types.integer({ min: 1, max: largestObject }),
    50 * mebibyte,
    { description: 'Maximum bytes of an object in storage. A bucket can have a lower limit.' },
  ),
  storageUnicodeNames: storage(['STORAGE_UNICODE_NAMES'], types.optionalBoolean, null, {
    description: 'Whether names of objects may have letters beyond ASCII: `über`, `灯泡`, emoji.',
    defaultInWords:
      "`true`; `false` where Supabase's storage has set up the tables, or a check constraint restricts `storage.objects.name`",
    example: 'true',
  }),
  storageUploadSignedUrlExpirationTime: storage(
    ['UPLOAD_SIGNED_URL_EXPIRATION_TIME'],
    types.integer({ min: 1, max: 31_536_000 }),
    60,
    { description: 'Seconds that a signed URL for an upload is valid. Supabase sets 7200.' },
  ),
  storageBackend: storage(
    ['STORAGE_BACKEND'],
    types.choice(['file', 's3'], 'Invalid storage backend.'),
    'file',
    { description: 'Where the bytes of objects are: in a folder, or in a bucket of an S3 server.' },
    'restart',
  ),
  storageFileBackendPath: storage(
    ['STORAGE_FILE_BACKEND_PATH'],
    types.optionalText,
    null,
    {
      description: 'Folder of the objects. It belongs to one database, whose servers share it.',
      defaultInWords: '`storage` in `data-dir`',
      example: '"/var/lib/rowhouse/storage"',
    },
    'restart',
  ),
  storageMemoryCache: storage(['STORAGE_MEMORY_CACHE'], types.sizeOrZero, 16 * mebibyte, {
    description: 'Memory of each process for the objects up to 64 KiB that were read last. `0` disables it.',
  }),
  storageTusUrlExpiryMs: storage(['TUS_URL_EXPIRY_MS'], types.integer({ min: 1000, max: 31_536_000_000 }), 3_600_000, {
    description: 'Milliseconds that a resumable upload may take.',
  }),
  storageImageTransformationEnabled: storage(['IMAGE_TRANSFORMATION_ENABLED'], types.boolean, true, {
    description: 'Whether images are resized at `/storage/v1/render/image`.',
  }),
  storageImageTransformationLimitMinSize: storage(
    ['IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE'],
    types.integer({ min: 1, max: 16_383 }),
    1,
    { description: 'Minimum width and height of a resized image, in pixels.' },
  ),
  storageImageTransformationLimitMaxSize: storage(
    ['IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE'],
    types.integer({ min: 1, max: 16_383 }),
    2000,
    { description: 'Maximum width and height of a resized image, in pixels.' },
  ),
  storagePublicUrl: storage(['STORAGE_PUBLIC_URL'], authTypes.httpUrl, null, {
    description: 'Public URL of the storage service, for the addresses of resumable uploads.',
    defaultInWords: '`/storage/v1` of the host that the request names',
    example: '"https://example.org/storage/v1"',
  }),
  storageS3Bucket: storage(
    ['STORAGE_S3_BUCKET'],
    types.optionalText,
    null,
    { description: 'S3 bucket of the objects.', example: '"rowhouse-objects"' },
    'restart',
  ),
  storageS3Endpoint: storage(
    ['STORAGE_S3_ENDPOINT'],
    authTypes.httpUrl,
    null,
    { description: 'URL of the S3 server.', defaultInWords: "Amazon's", example: '"https://s3.example.org"' },
    'restart',
  ),
  storageS3Region: storage(
    ['STORAGE_S3_REGION'],
    types.text,
    'us-east-1',
    { description: 'Region of the S3 bucket. Credentials are those of the AWS SDK: `AWS_ACCESS_KEY_ID` and others.' },
    'restart',
  ),
}
