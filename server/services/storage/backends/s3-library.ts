// The AWS SDK, which is an optional dependency: it is loaded only for STORAGE_BACKEND=s3.

export type S3Library = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage')

/** @throws Error that says what to install */
export async function loadS3(): Promise<S3Library> {
  try {
    const [client, storage] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
    return { ...client, ...storage }
  } catch (error) {
    throw new Error('STORAGE_BACKEND=s3 needs the AWS SDK: npm install @aws-sdk/client-s3 @aws-sdk/lib-storage', {
      cause: error,
    })
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

/** Whether an error of the SDK says that there is no such object. */
export const isMissing = (error: unknown): boolean => ['NoSuchKey', 'NotFound'].includes(nameOf(error))

/** Whether an error of the SDK says that the server does not implement a request. */
export const isUnsupported = (error: unknown): boolean => ['NotImplemented', 'MethodNotAllowed'].includes(nameOf(error))
