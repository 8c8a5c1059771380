// The tests of `storage-objects.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-objects.test.ts'
