// The files page of the console: buckets, uploads in one request and in parts, previews, links, and as whom one sees them.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ElementHandle, Page } from 'puppeteer-core'
import t from 'tap'
import { startConsoleServer } from '../support/console.ts'
import { fill, launchBrowser, lookAs, openConsole, openPage, press, shows } from './support/browser.ts'

const ann = '11111111-1111-4111-8111-111111111111'
const ben = '22222222-2222-4222-8222-222222222222'
const attack = '<img src=x onerror=alert(1)>.txt'
const script = '<script>alert(1)</script>'

const accounts = `
  insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values ('${ann}', 'authenticated', 'authenticated', 'ann@example.com', '{}', '{}', now(), now()),
    ('${ben}', 'authenticated', 'authenticated', 'ben@example.com', '{}', '{}', now(), now())`

const folder = await mkdtemp(join(tmpdir(), 'console-files-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const migrations = join(folder, 'migrations')
await mkdir(migrations)
const env = { STORAGE_FILE_BACKEND_PATH: join(folder, 'store'), MIGRATIONS_DIR: migrations }

/** Writes files for uploads. */
async function fileOf(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

async function upload(page: Page, ...paths: string[]): Promise<void> {
  const input = (await page.waitForSelector('input[type=file]')) as ElementHandle<never> & {
    readonly uploadFile: (...files: string[]) => Promise<void>
  }
  await input.uploadFile(...paths)
}

/** Waits until the uploads with a name have a state. */
const uploaded = (page: Page, name: string): Promise<unknown> =>
  page.waitForFunction(
    (text) =>
      [...document.querySelectorAll('.uploads li')].some(
        (it) => it.textContent.includes(text) && it.querySelector('.badge.good'),
      ),
    {},
    name,
  )

t.test('files as two users see them', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, env, accounts)])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/files', 'Files')
  t.ok(await shows(page, 'anon sees no buckets'))
  await press(page, 'Look as service_role')
  t.ok(await shows(page, 'There are no buckets yet'))
  await press(page, 'Create bucket')
  await fill(page, 'Name', 'documents')
  await fill(page, 'Largest file', '20MB')
  await press(page, 'Create')
  t.ok(await shows(page, 'There are no files here'))

  await press(page, 'Policies', '.bar')
  t.ok(await shows(page, 'storage.foldername', 'dialog'))
  const sql = await page.evaluate(() => document.querySelector('dialog pre')?.textContent ?? '')
  await press(page, 'Write migration')
  t.ok(await shows(page, 'Written to', 'dialog'))
  const [written = ''] = await readdir(migrations)
  t.match(await readFile(join(migrations, written), 'utf8'), sql)
  await server.database.query(sql)
  await page.click('dialog .close')

  await lookAs(page, 'ann@example.com')
  await upload(page, await fileOf('denied.txt', 'denied'))
  t.ok(await shows(page, 'row-level security', '.uploads'), 'not in her folder')
  await press(page, 'Dismiss')
  await openPage(page, `#/files/documents/${ann}`, ann)
  const large = await fileOf('large.bin', Buffer.alloc(7 * 1024 * 1024, 1))
  await upload(page, await fileOf('notes.txt', script), await fileOf('page.html', script), large)
  for (const name of ['notes.txt', 'page.html', 'large.bin']) await uploaded(page, name)
  t.ok(await shows(page, '7.3 MB', 'table'), 'uploaded in parts')

  for (const name of ['notes.txt', 'page.html']) {
    await press(page, name)
    t.ok(await shows(page, script, 'dialog pre'), `${name} is shown as text`)
    await page.click('dialog .close')
  }

  await press(page, 'Link', 'tr:has(input[aria-label="Choose notes.txt"])')
  await press(page, 'Create as ann@example.com')
  const link = await page.waitForFunction(() => document.querySelector('dialog .snippet code')?.textContent)
  t.equal(await (await fetch(String(await link.jsonValue()))).text(), script, 'the link works without a token')
  await page.click('dialog .close')

  await press(page, 'Move', 'tr:has(input[aria-label="Choose notes.txt"])')
  await fill(page, 'New name, with its folders', `${ann}/texts/notes.txt`)
  await press(page, 'Move', 'dialog')
  t.ok(await shows(page, 'texts/', 'table'))

  await upload(page, await fileOf('page.html', 'changed'))
  await press(page, 'Replace the file')
  await page.waitForFunction(() => document.querySelectorAll('.uploads .badge.good').length === 4)

  await lookAs(page, 'ben@example.com')
  t.ok(await shows(page, 'You see what ben@example.com sees'))
  await page.click('.bar input[type=checkbox]')
  t.ok(await shows(page, 'hidden from ben@example.com', 'table'))
  await press(page, 'Delete', 'tr:has(input[aria-label="Choose large.bin"])')
  await press(page, 'Delete', 'dialog')
  t.ok(await shows(page, 'No policy lets ben@example.com delete any of it.', 'dialog'))
  await page.click('dialog .close')

  await lookAs(page, 'ann@example.com')
  await page.click('input[aria-label="Choose all"]')
  await press(page, 'Delete', '.bar')
  await press(page, 'Delete', 'dialog')
  t.ok(await shows(page, 'There are no files here'))
  const { rows } = await server.database.query('select name from storage.objects')
  t.same(rows, [], 'the folder and what was in it, too')
  t.same(faults, [])
})

t.test('names with markup, images that are programs', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, env, accounts)])
  const { page, faults } = await openConsole(browser, server)
  await lookAs(page, 'service_role')
  await openPage(page, '#/files', 'Files')
  await press(page, 'Create bucket')
  await fill(page, 'Name', 'pictures')
  await press(page, 'Create')
  t.ok(await shows(page, 'There are no files here'))
  await server.database.query(
    `insert into storage.objects (bucket_id, name, metadata)
     values ('pictures', '${attack}', '{"size": 5, "mimetype": "${script}"}'),
       ('pictures', '<b>folder/a.txt', '{"size": 5, "mimetype": "text/plain"}')`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="alert(1)"><script>alert(2)</script></svg>`
  await upload(page, await fileOf('image.svg', svg))
  await uploaded(page, 'image.svg')
  t.ok(await shows(page, attack, 'table'))
  t.ok(await shows(page, '<b>folder/', 'table'))
  await press(page, 'image.svg')
  await page.waitForFunction(() => document.querySelector('dialog img')?.getBoundingClientRect().width === 40)
  await page.click('dialog .close')
  await press(page, attack)
  t.ok(await shows(page, script, 'dialog'))
  t.same(faults, [])
})

t.test('an upload in parts is cancelled', async (t) => {
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, env, accounts)])
  const { page, faults } = await openConsole(browser, server)
  await lookAs(page, 'service_role')
  await openPage(page, '#/files', 'Files')
  await press(page, 'Create bucket')
  await fill(page, 'Name', 'videos')
  await press(page, 'Create')
  t.ok(await shows(page, 'There are no files here'))
  const network = await page.createCDPSession()
  await network.send('Network.enable')
  await network.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: 2_000_000,
  })
  await upload(page, await fileOf('long.bin', Buffer.alloc(20 * 1024 * 1024)))
  await page.waitForFunction(() => Number(document.querySelector('progress')?.getAttribute('value')) > 1_000_000)
  await press(page, 'Cancel')
  await page.waitForFunction(() => !document.querySelector('.uploads'))
  await network.send('Network.disable')
  const { rows } = await server.database.query('select from storage.objects')
  t.equal(rows.length, 0)
  t.same(faults, [])
})
