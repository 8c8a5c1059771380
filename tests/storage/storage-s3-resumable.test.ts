// The tests of `storage-resumable.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-resumable.test.ts'
