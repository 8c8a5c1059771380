// Records the operations on an S3 server in the traces of the requests that wait for them.
// https://opentelemetry.io/docs/specs/semconv/object-stores/s3/
import type { S3Client } from '@aws-sdk/client-s3'
import { requestScope, type CallEnd } from '../../../common/request-scope.ts'

type Metadata = { readonly httpStatusCode?: number; readonly requestId?: string; readonly attempts?: number }
type WithMetadata = { readonly $metadata?: Metadata }

export type S3Place = {
  readonly bucket: string
  readonly region: string
  /** URL of the server; null for Amazon's. */
  readonly endpoint: string | null
}

/**
 * Adds a span per operation, its repetitions included, which lasts until the response begins. Keys are not recorded: they name
 * objects. Operations that belong to no traced request cost nothing.
 */
export function traceOperations(client: S3Client, { bucket, region, endpoint }: S3Place): void {
  const attributes = {
    'rpc.system': 'aws-api',
    'rpc.service': 'S3',
    'aws.s3.bucket': bucket,
    'cloud.region': region,
    ...(endpoint === null ? {} : { 'server.address': new URL(endpoint).hostname }),
  }
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const operation = (context.commandName ?? '').replace(/Command$/, '')
      const end = requestScope
        .getStore()
        ?.call({ name: `S3/${operation}`, kind: 'client', attributes: { ...attributes, 'rpc.method': operation } })
      if (!end) return next(args)
      try {
        const result = await next(args)
        end(endOf(result.output, undefined))
        return result
      } catch (error) {
        end(endOf(error as WithMetadata, error instanceof Error ? error.name : 'Error'))
        throw error
      }
    },
    { step: 'initialize', name: 'traceOperations' },
  )
}

const endOf = (
  { $metadata: { httpStatusCode, requestId, attempts = 1 } = {} }: WithMetadata,
  error?: string,
): CallEnd => ({
  attributes: {
    'http.response.status_code': httpStatusCode,
    'aws.request_id': requestId,
    'http.request.resend_count': attempts > 1 ? attempts - 1 : undefined,
  },
  error,
})
