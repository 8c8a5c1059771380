// The tests of `storage-changes.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-changes.test.ts'
