// Imported before a file of tests, this lets its services keep their objects on S3.
import { chooseBackend } from './storage-backends.ts'

chooseBackend('s3')
