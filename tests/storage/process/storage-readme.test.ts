// Runs the lines of the guide to files as they are in its text.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import sharp from 'sharp'
import t from 'tap'
import { Upload } from 'tus-js-client'
import { createApiKey } from '../../../server/identity/api-key/api-key.ts'
import { newAddress, password } from '../../support/auth.ts'
import { withClient } from '../../support/database.ts'
import { readmeSection } from '../../support/readme-section.ts'
import { startStorageService } from '../../support/storage.ts'

const { url, database } = await startStorageService(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })
await database.query(readmeSection('storage-sql'))
const { key } = await withClient(database.adminUri, (client) => createApiKey(client, { role: 'anon', label: 'page' }))

const newPage = (): SupabaseClient =>
  createClient(url, key, {
    auth: { autoRefreshToken: false, persistSession: false },
    // Node 20 has no WebSocket.
    realtime: { transport: class {} as never },
  }) as SupabaseClient

type Results = {
  readonly publicUrl: string
  readonly description: { readonly size: number; readonly metadata: unknown }
  readonly text: Blob
  readonly error: unknown
  readonly note: string
  readonly signedUrl: string
  readonly files: readonly { readonly name: string }[]
  readonly thumbnail: string
}

t.test('the lines of a page', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-recipe-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const supabase = newPage()
  const { error: refused } = await supabase.auth.signUp({ email: newAddress(), password })
  t.equal(refused, null)
  await writeFile(
    join(folder, 'page.mjs'),
    `export default async ({ supabase, picture, film, url, Upload }) => {
       ${readmeSection('storage')}; ${readmeSection('storage-more')}; ${readmeSection('storage-tus')}
       return { publicUrl, description, text, error, note, signedUrl, files, thumbnail }
     }`,
  )
  const module = (await import(pathToFileURL(join(folder, 'page.mjs')).href)) as {
    readonly default: (given: object) => Promise<Results>
  }
  const png = await sharp({ create: { width: 200, height: 100, channels: 3, background: 'green' } })
    .png()
    .toBuffer()
  const [picture, film] = [
    new Blob([new Uint8Array(png)], { type: 'image/png' }),
    Buffer.alloc(7 * 1024 * 1024, 'film'),
  ]
  const given = { supabase, picture, film, url, Upload }
  const { publicUrl, description, text, error, note, signedUrl, files, thumbnail } = await module.default(given)
  const shown = await fetch(publicUrl)
  t.strictSame([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
  t.strictSame(Buffer.from(await shown.arrayBuffer()), png)
  t.match(description, { size: 17, metadata: { colour: 'yellow' } })
  t.equal(await text.text(), 'Remember the milk')
  t.match(error, { message: 'The resource already exists', statusCode: '409' })

  t.equal(await (await fetch(signedUrl)).text(), 'Remember the milk')
  t.strictSame(
    files.map(({ name }) => name),
    ['note.txt'],
  )
  const resized = await sharp(Buffer.from(await (await fetch(thumbnail)).arrayBuffer())).metadata()
  t.match(resized, { width: 64, height: 64 })
  const folderOfUser = note.slice(0, note.indexOf('/'))
  for (const [name, size] of [
    ['letter.txt', 8],
    ['film.mp4', film.length],
  ] as const) {
    t.match((await supabase.storage.from('notes').info(`${folderOfUser}/${name}`)).data, { size }, name)
  }

  const other = newPage()
  await other.auth.signUp({ email: newAddress(), password })
  t.match(
    (await other.storage.from('notes').download(note)).error,
    { name: 'StorageApiError' },
    'other users see nothing',
  )
  t.match((await other.storage.from('notes').upload(note, 'x', { upsert: true })).error, { statusCode: '403' })
})

t.test('the curl commands', async (t) => {
  const supabase = newPage()
  const { data } = await supabase.auth.signUp({ email: newAddress(), password })
  const env = { PATH: process.env.PATH, TOKEN: data.session?.access_token, USER_ID: data.user?.id }
  const outputs: string[] = []
  for (const line of readmeSection('storage-curl').split('\n')) {
    if (line.trim() === '') continue
    const command = line.replace('http://127.0.0.1:3000', url).replace('curl ', 'curl --silent --show-error ')
    outputs.push((await promisify(execFile)('/bin/sh', ['-e', '-c', command], { env })).stdout)
  }
  const [uploaded = '', whole, part, removed] = outputs
  t.match(JSON.parse(uploaded), { Key: `notes/${data.user?.id ?? ''}/hello.txt` })
  t.strictSame([whole, part, removed], ['Hello', 'Hell', '{"message":"Successfully deleted"}'])
})
