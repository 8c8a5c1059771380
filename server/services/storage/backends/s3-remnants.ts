// Uploads in parts that were never finished, because the process ended. S3 keeps their parts until they are aborted.
import type { S3Client } from '@aws-sdk/client-s3'
import { isOver, type S3Library } from './s3-library.ts'

type Upload = { readonly Bucket: string; readonly Key: string | undefined; readonly UploadId: string | undefined }

/**
 * Aborts the unfinished uploads below a prefix that were last written before a time. A slow upload may have begun long before.
 *
 * @throws the errors of the SDK
 */
export async function abortUnfinished(
  client: S3Client,
  library: S3Library,
  below: { readonly Bucket: string; readonly Prefix: string },
  before: Date,
): Promise<void> {
  const isActive = async (upload: Upload): Promise<boolean> => {
    for await (const { Parts: parts = [] } of library.paginateListParts({ client }, upload)) {
      if (parts.some(({ LastModified }) => LastModified && LastModified >= before)) return true
    }
    return false
  }
  let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } = {}
  for (;;) {
    const page = await client.send(new library.ListMultipartUploadsCommand({ ...below, ...marker }))
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (!Initiated || Initiated >= before) continue
      const upload = { Bucket: below.Bucket, Key, UploadId }
      try {
        if (!(await isActive(upload))) await client.send(new library.AbortMultipartUploadCommand(upload))
      } catch (error) {
        if (!isOver(error)) throw error
      }
    }
    const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
    if (IsTruncated !== true || KeyMarker === undefined) return
    marker = { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
  }
}
