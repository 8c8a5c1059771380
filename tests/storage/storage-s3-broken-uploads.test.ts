// The tests of `storage-broken-uploads.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-broken-uploads.test.ts'
