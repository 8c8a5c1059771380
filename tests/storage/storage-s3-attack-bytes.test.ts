// The tests of `storage-attack-bytes.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-attack-bytes.test.ts'
