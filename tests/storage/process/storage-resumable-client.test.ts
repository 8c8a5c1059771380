// tus-js-client against the program, on both stores: interrupted and resumed, also across a kill of the server.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Upload, type UploadOptions } from 'tus-js-client'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { startProgram, type Program } from '../../support/program.ts'
import { s3Credentials, startS3 } from '../../support/s3-server.ts'
import { askStorage, storageBearer } from '../../support/storage.ts'
import { until } from '../../support/until.ts'

const ada = 'aaaaaaaa-0000-4000-8000-000000000001'
const mebibyte = 1024 * 1024

const stores: Readonly<Record<string, (t: Test) => Promise<Readonly<Record<string, string>>>>> = {
  file: async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'rowhouse-resumable-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    return { STORAGE_FILE_BACKEND_PATH: folder }
  },
  s3: async (t) => {
    const server = await startS3(t)
    server.copiesParts = true
    return {
      ...s3Credentials,
      STORAGE_BACKEND: 's3',
      STORAGE_S3_BUCKET: server.bucket,
      STORAGE_S3_ENDPOINT: server.endpoint,
    }
  },
}

for (const [name, open] of Object.entries(stores)) {
  t.test(name, async (t) => {
    const database = await createMigratedDatabase()
    t.teardown(database.drop)
    await database.query(
      `insert into storage.buckets (id, name) values ('own', 'own');
       create policy own on storage.objects for all to authenticated
         using (bucket_id = 'own' and (storage.foldername(name))[1] = auth.uid()::text);`,
    )
    const port = String(await freePort())
    const env = {
      DATABASE_URL: database.authenticatorUri,
      PGRST_JWT_SECRET: jwtSecret,
      PGRST_SERVER_PORT: port,
      ...(await open(t)),
    }
    const start = async (): Promise<Program> => {
      const program = startProgram(t, env)
      await program.line(({ event }) => event === 'listening')
      const ready = await until(
        async () => (await askStorage(program.url())('GET', '/bucket', { as: 'service_role' })).status === 200,
      )
      t.ok(ready, 'the server is ready')
      return program
    }
    const token = await storageBearer(ada)
    const send = (program: Program, bytes: Buffer, object: string, more: Partial<UploadOptions>) =>
      new Promise<Upload>((resolve, reject) => {
        const upload: Upload = new Upload(bytes, {
          endpoint: `${program.url()}/storage/v1/upload/resumable`,
          headers: { authorization: token, 'x-upsert': 'true' },
          metadata: {
            bucketName: 'own',
            objectName: `${ada}/${object}`,
            contentType: 'text/plain',
            cacheControl: '60',
          },
          retryDelays: null,
          removeFingerprintOnSuccess: true,
          onSuccess: () => resolve(upload),
          onError: reject,
          ...more,
        })
        upload.start()
      })
    const download = async (program: Program, object: string) =>
      askStorage(program.url())('GET', `/object/authenticated/own/${ada}/${object}`, { as: ada })

    let program = await start()

    t.test('an object in one request, in chunks, and of unknown length', async (t) => {
      const bytes = randomBytes(7 * mebibyte + 3)
      const variants: readonly (readonly [string, Partial<UploadOptions>])[] = [
        ['whole', {}],
        ['chunks', { chunkSize: 6 * mebibyte }],
        ['creation', { uploadDataDuringCreation: true }],
        ['deferred', { uploadLengthDeferred: true, chunkSize: 3 * mebibyte }],
      ]
      for (const [object, more] of variants) {
        await send(program, bytes, object, more)
        const { status, bytes: found, headers } = await download(program, object)
        t.equal(status, 200, object)
        t.ok(found.equals(bytes), object)
        t.equal(headers.get('cache-control'), 'max-age=60')
      }
    })

    t.test('interrupted by the client, and resumed', async (t) => {
      const bytes = randomBytes(5 * mebibyte)
      const address = await interrupted(program, bytes, 'interrupted')
      t.equal((await download(program, 'interrupted')).status, 400, 'nothing is visible')
      await send(program, bytes, 'interrupted', { uploadUrl: address, chunkSize: mebibyte })
      t.ok((await download(program, 'interrupted')).bytes.equals(bytes))
    })

    t.test('the server is killed in the middle, and started again', async (t) => {
      const bytes = randomBytes(20 * mebibyte)
      for (const round of [1, 2]) {
        const object = `killed-${round}`
        let accepted = 0
        let address: string | null = null
        const upload = new Upload(bytes, {
          endpoint: `${program.url()}/storage/v1/upload/resumable`,
          headers: { authorization: token },
          metadata: { bucketName: 'own', objectName: `${ada}/${object}`, contentType: 'text/plain' },
          retryDelays: null,
          chunkSize: 2 * mebibyte,
          onUploadUrlAvailable: () => (address = upload.url),
          onChunkComplete: (_size, bytesAccepted) => {
            accepted = bytesAccepted
            if (accepted >= round * 4 * mebibyte) program.kill('SIGKILL')
          },
          onError: () => undefined,
        })
        upload.start()
        await program.ended
        program = await start()
        if (address === null) throw new Error('the upload has no address')
        t.equal((await download(program, object)).status, 400, 'nothing is visible')
        const head = await fetch(address, {
          method: 'HEAD',
          headers: { authorization: token, 'tus-resumable': '1.0.0' },
        })
        const offset = Number(head.headers.get('upload-offset'))
        t.ok(offset >= accepted, `${offset} of ${accepted} acknowledged bytes`)
        await send(program, bytes, object, {
          uploadUrl: address,
          headers: { authorization: token },
          chunkSize: 6 * mebibyte,
        })
        t.ok((await download(program, object)).bytes.equals(bytes), 'whole')
      }
    })

    async function interrupted(program: Program, bytes: Buffer, object: string): Promise<string> {
      return new Promise((resolve, reject) => {
        const upload = new Upload(bytes, {
          endpoint: `${program.url()}/storage/v1/upload/resumable`,
          headers: { authorization: token, 'x-upsert': 'true' },
          metadata: { bucketName: 'own', objectName: `${ada}/${object}` },
          retryDelays: null,
          chunkSize: mebibyte,
          onChunkComplete: (_size, accepted) => {
            if (accepted === 2 * mebibyte) upload.abort().then(() => resolve(upload.url ?? ''), reject)
          },
          onError: reject,
        })
        upload.start()
      })
    }
  })
}
