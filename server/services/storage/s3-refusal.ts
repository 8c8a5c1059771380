// The S3 protocol, which the original also speaks at `/storage/v1/s3`. Its clients read errors in XML.
import type { ServerResponse } from 'node:http'
import { sendWhole } from '../../common/incomplete-request.ts'

const refusal = Buffer.from(
  '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NotImplemented</Code>' +
    '<Message>This server does not speak the S3 protocol: use the storage API at /storage/v1</Message></Error>\n',
)

/** Responds to a request of an S3 client. https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html */
export const sendS3Refusal = (response: ServerResponse): void =>
  sendWhole(response, 501, refusal, { 'Content-Type': 'application/xml; charset=utf-8' })
