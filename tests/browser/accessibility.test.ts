// Every page, light and dark, on a phone and on a desk: what axe-core finds, what does not fit, and how much is loaded.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'puppeteer-core'
import t from 'tap'
import { launchBrowser, lookAs, openConsole } from './support/browser.ts'
import { startConsoleServer } from '../support/console.ts'

type Violation = { readonly id: string; readonly impact: string; readonly nodes: readonly { readonly html: string }[] }

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Serious and critical findings of axe-core. https://github.com/dequelabs/axe-core */
async function violationsOf(page: Page): Promise<readonly string[]> {
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    readonly violations: readonly Violation[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

const [browser, server] = await Promise.all([launchBrowser(t), startConsoleServer(t)])

/** The pages of the navigation, and some of what is below them. */
async function addressesOf(page: Page): Promise<readonly string[]> {
  const links = await page.evaluate(() =>
    [...document.querySelectorAll('#navigation a')].map((link) => link.getAttribute('href') ?? ''),
  )
  return [
    ...links.filter((link) => link.startsWith('#')),
    '#/tables/public/profiles',
    '#/api/table/public/profiles',
    '#/api/function/public/estimate_report',
    '#/api/types',
    '#/policies/findings',
    '#/policies/tests',
    '#/users/mailbox',
    '#/requests/statements',
    '#/realtime/channels',
    '#/reports/queue',
    ...['migrations', 'keys', 'settings', 'backups', 'changes'].map((part) => `#/operations/${part}`),
    '#/webhooks/calls',
    '#/schedules/runs',
  ]
}

async function open(page: Page, fragment: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, fragment)
  await page.waitForSelector('main h1, main h2')
  await page.waitForNetworkIdle({ idleTime: 300, concurrency: 2 })
}

for (const { name, width, isDark } of [
  { name: 'a desk, light', width: 1280, isDark: false },
  { name: 'a phone, dark', width: 360, isDark: true },
]) {
  t.test(name, async (t) => {
    const { page, faults } = await openConsole(browser, server, { width, isDark })
    await lookAs(page, 'service_role')
    await page.evaluate(axe)
    const addresses = await addressesOf(page)
    t.ok(addresses.length > 10)
    for (const fragment of addresses) {
      await open(page, fragment)
      t.strictSame(await violationsOf(page), [], fragment)
      const tooWide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      t.ok(tooWide <= 0, `${fragment} fits into ${width} pixels`)
    }
    // Firefox draws those of the system otherwise, which are white in the dark, too.
    const scrollbars = await page.evaluate('getComputedStyle(document.documentElement).scrollbarColor')
    t.match(scrollbars, isDark ? 'rgb(154, 164, 175)' : 'rgb(89, 99, 110)', 'scrollbars have the colours of the page')
    t.strictSame(faults, [])
  })
}

t.test('the sign-in', async (t) => {
  const page = await (await browser.createBrowserContext()).newPage()
  await page.goto(`${server.url}/console/`)
  await page.waitForSelector('.sign-in')
  await page.evaluate(axe)
  t.strictSame(await violationsOf(page), [])
})

t.test('the first load', async (t) => {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const client = await page.createCDPSession()
  await client.send('Network.enable')
  let bytes = 0
  client.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).host))
  await page.goto(await server.link())
  await page.waitForSelector('.shell .card')
  t.ok(bytes > 10_000 && bytes <= 250_000, `${bytes} bytes`)
  t.strictSame([...hosts], [new URL(server.url).host], 'nothing of other hosts')
})

t.test('the keyboard', async (t) => {
  const { page } = await openConsole(browser, server)
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the page')
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN')
  await page.click('.viewer')
  await page.waitForSelector('dialog[open]')
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.querySelector('dialog[open]') === null)
  t.pass('Escape closes a dialog')
})
