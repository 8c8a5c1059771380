// CORS of `/storage/v1`.
import { reflectedHeaders, type TokenCors } from '../../http/token-cors.ts'

export const storageCors: TokenCors = {
  methods: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  exposedHeaders: [
    'Content-Range',
    'ETag',
    'X-Transformations',
    'Location',
    'Upload-Offset',
    'Upload-Length',
    'Upload-Metadata',
    'Upload-Expires',
    'Tus-Version',
    'Tus-Resumable',
    'Tus-Max-Size',
    'Tus-Extension',
    'Tus-Checksum-Algorithm',
    'Upload-Defer-Length',
  ].join(', '),
  // Metadata and resumable uploads have many headers.
  allowedHeaders: reflectedHeaders,
}
