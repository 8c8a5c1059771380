// The runs page of the console: boxes on images, to scale; runs side by side; as two users.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ElementHandle } from 'puppeteer-core'
import sharp from 'sharp'
import t from 'tap'
import { startConsoleServer } from '../support/console.ts'
import { launchBrowser, lookAs, openConsole, openPage, press, shows } from './support/browser.ts'

const ann = '11111111-1111-4111-8111-111111111111'
const ben = '22222222-2222-4222-8222-222222222222'
const cleo = '33333333-3333-4333-8333-333333333333'
const attack = '<img src=x onerror=alert(1)>'

const folder = await mkdtemp(join(tmpdir(), 'console-runs-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

const sql = `
  insert into auth.users (id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
  values ('${ann}', 'authenticated', 'authenticated', 'ann@example.com', '{}', '{}', now(), now()),
    ('${ben}', 'authenticated', 'authenticated', 'ben@example.com', '{}', '{}', now(), now()),
    ('${cleo}', 'authenticated', 'authenticated', 'cleo@example.com', '{}', '{}', now(), now());
  create policy own_folder on storage.objects for all to authenticated
    using ((storage.foldername(name))[1] = (select auth.uid())::text)
    with check ((storage.foldername(name))[1] = (select auth.uid())::text);
  insert into public.classification_runs
    (user_id, image_uri, image_source, result_label, confidence, is_positive, created_at, analysis)
  select '${ann}', 'https://other.example/a.jpg', 'camera', '${attack} ' || day, 90, true, now() - day * interval '1 day',
    json_build_object('boxes', json_build_array(json_build_object(
      'x1', 100, 'y1', 50, 'x2', 300, 'y2', 150, 'width', 200, 'height', 100, 'confidence', 0.8
    )), 'coverage_percent', 10 * day, 'risk_level', 'LOW', 'image_width', 400, 'image_height', 200)
  from generate_series(1, 3) as days (day);
  insert into public.classification_runs (user_id, image_uri, image_source, result_label, confidence, is_positive, created_at)
  select '${cleo}', 'https://other.example/a.jpg', 'camera', 'run ' || n, 90, true, '2026-01-02T03:04:05.678901Z'
  from generate_series(1, 65) as n`

t.test('runs', async (t) => {
  // On a busy machine, the process that analyses images gets little time.
  const env = { STORAGE_FILE_BACKEND_PATH: join(folder, 'store'), IMAGE_TIMEOUT: '600' }
  const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t, env, sql)])
  const { page, faults } = await openConsole(browser, server)
  await openPage(page, '#/runs', 'Runs')
  await lookAs(page, 'ann@example.com')
  t.ok(await shows(page, `${attack} 3`, '.run-cards'))
  t.ok(await shows(page, 'Coverage over time'))
  await page.waitForSelector('.boxed .box')
  const box = await page.$eval('.boxed .box', (it) => it.getAttribute('width'))
  t.equal(box, '200')
  const [frame, drawn] = await page.evaluate(() =>
    ['.boxed .ground', '.boxed .box'].map(
      (selector) => document.querySelector(selector)?.getBoundingClientRect().width ?? 0,
    ),
  )
  t.ok(Math.abs((drawn ?? 0) / (frame ?? 1) - 0.5) < 0.05, 'to scale')

  await page.$$eval('.run-cards input[type=checkbox]', (boxes) => {
    for (const it of boxes.slice(0, 2)) (it as unknown as { click: () => void }).click()
  })
  await press(page, 'Compare 2 runs')
  t.ok(await shows(page, '-10 points of coverage', 'dialog'))
  await page.click('dialog .close')

  await lookAs(page, 'cleo@example.com')
  const labels = async (count: number): Promise<readonly string[]> => {
    await page.waitForFunction((n) => document.querySelectorAll('.run-cards li').length === n, {}, count)
    return page.evaluate(() => [...document.querySelectorAll('.run-cards strong')].map((it) => it.textContent))
  }
  const newest = await labels(60)
  await press(page, 'Older')
  const all = new Set([...newest, ...(await labels(5))])
  t.equal(all.size, 65, 'runs of the same moment are all on one of the pages')
  await press(page, 'Newest')
  t.same(await labels(60), newest)

  await lookAs(page, 'ben@example.com')
  t.ok(await shows(page, 'ben@example.com sees no runs'))
  const image = join(folder, 'leaf.jpg')
  const background = { r: 80, g: 110, b: 200 }
  const leaf = sharp({ create: { width: 200, height: 200, channels: 3, background: { r: 40, g: 160, b: 40 } } })
  await writeFile(
    image,
    await sharp({ create: { width: 640, height: 480, channels: 3, background } })
      .composite([{ input: await leaf.png().toBuffer(), left: 100, top: 100 }])
      .jpeg()
      .toBuffer(),
  )
  await page.click('.bar input[type=checkbox]')
  const input = (await page.$('input[type=file]')) as ElementHandle<never> & {
    readonly uploadFile: (...files: string[]) => Promise<void>
  }
  await input.uploadFile(image)
  await page.waitForSelector('.run-cards image')
  await page.click('.picture')
  await page.waitForSelector('dialog svg image')
  t.ok(await shows(page, 'Coverage', 'dialog'))
  await press(page, 'Delete', 'dialog')
  await press(page, 'Delete', 'dialog')
  t.ok(await shows(page, 'ben@example.com sees no runs'))
  t.same(faults, [])
})
