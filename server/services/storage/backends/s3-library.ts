// The AWS SDK, which is an optional dependency: it is loaded only for STORAGE_BACKEND=s3.

export type S3Library = typeof import('@aws-sdk/client-s3')

/** @throws Error that says what to install */
export async function loadS3(): Promise<S3Library> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (error) {
    throw new Error('STORAGE_BACKEND=s3 needs the AWS SDK: npm install @aws-sdk/client-s3', { cause: error })
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

/** Whether an error of the SDK says that there is no such object. */
export const isMissing = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes(nameOf(error))

/** Whether an error of the SDK says that an upload in parts was completed or aborted before. */
export const isOver = (error: unknown): boolean => nameOf(error) === 'NoSuchUpload'

/** Whether an error of the SDK says that the server does not implement a request. */
export const isUnsupported = (error: unknown): boolean => ['NotImplemented', 'MethodNotAllowed'].includes(nameOf(error))

const unquoted = /^"?([^"]*)"?$/

/** An ETag of a response in double quotes, which some servers leave out. */
export const quotedETag = (eTag: string | undefined): string => `"${unquoted.exec(eTag ?? '')?.[1] ?? ''}"`
