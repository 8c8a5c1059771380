// The error codes of `/storage/v1`, each declared once. They are those of Supabase's storage.

/** The statuses of each code, which the body has as `statusCode`, and when it occurs. */
export const storageErrorCodes = {
  AccessDenied: [[403], 'The token is not valid, or the policies do not allow it.'],
  BucketAlreadyExists: [[409], 'A bucket has the name.'],
  DatabaseError: [[500, 503], 'An error of the database. 503: it is not available.'],
  DatabaseInvalidObjectDefinition: [[503], 'Policies call each other without end.'],
  DatabaseReadOnly: [[503], 'The database is read-only.'],
  DatabaseSchemaMismatch: [[503], 'The database is not set up for storage: run rowhouse migrate.'],
  DatabaseTimeout: [[544], 'A statement took too long.'],
  EntityTooLarge: [[413], 'The object is larger than its bucket or the service allows, or a JSON body too large.'],
  FeatureNotEnabled: [[409], 'This service does not have the kind of bucket.'],
  InternalError: [[500, 507], 'An unexpected error; the log has the cause. 507: no space is left.'],
  InvalidBucketName: [[400], 'The name of the bucket has characters that are not allowed.'],
  InvalidJWT: [[400], 'The token of a signed URL is not valid or has expired.'],
  InvalidKey: [[400], 'The name of the object has characters that are not allowed.'],
  InvalidMimeType: [[415], 'The bucket does not allow the media type, or the content is of another one.'],
  InvalidParameter: [[400], 'A parameter or value is not valid.'],
  InvalidRange: [[416], 'The range begins after the end of the object.'],
  InvalidRequest: [
    [400, 404],
    'The request is not valid; the message says why. 404: no such route or related resource.',
  ],
  InvalidSignature: [[400], 'The signature of a URL is for another path.'],
  KeyAlreadyExists: [[409], 'An object has the name: send x-upsert: true to replace it.'],
  NoSuchBucket: [[404], 'The bucket does not exist, or is not visible.'],
  NoSuchKey: [[404], 'The object does not exist, or is not visible.'],
  ResourceAlreadyExists: [[409], 'A row with the key exists.'],
  ResourceLocked: [[423], 'Another request writes the object: try again.'],
  ResourceNotEmpty: [[409], 'The bucket has objects: empty it first.'],
  ResourceReferenced: [[409], 'Other rows refer to it.'],
  S3Error: [[503], 'The object store is not available.'],
  SlowDown: [[503], 'The server is overloaded: try again after Retry-After.'],
} as const satisfies Readonly<Record<string, readonly [statuses: readonly number[], when: string]>>

export type StorageErrorCode = keyof typeof storageErrorCodes
