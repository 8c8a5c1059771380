// The tests of `storage-supabase-js.test.ts`, with the objects on an S3 server.
import '../support/on-s3.ts'
import './storage-supabase-js.test.ts'
