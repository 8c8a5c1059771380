// Chromium, driven through its protocol.
import { existsSync } from 'node:fs'
import program, { type Test } from 'tap'
import puppeteer, { type Browser, type BrowserContext, type Page } from 'puppeteer-core'
import type { ConsoleServer } from '../../support/console.ts'

const paths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** What a test needs of a browser: a context has cookies, storage and a cache of its own. */
export type ContextMaker = Pick<Browser, 'createBrowserContext'>

/** The browser of this process: starting one takes some two seconds of processor time. */
let started: Promise<Browser> | undefined

async function startBrowser(): Promise<Browser> {
  const executablePath = paths.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined) throw new Error('There is no Chromium: install it, or set CHROMIUM to its path')
  const browser = await puppeteer.launch({
    executablePath,
    // The sandbox needs rights that root in a container does not have.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
  // In a group of files, this is the program that runs them.
  program.teardown(() => browser.close())
  return browser
}

/**
 * Lets a test use the Chromium of this process, which is started for the first of them, and again if it has crashed. At the end of the
 * test the contexts that it has made are closed. Set `CHROMIUM` to the path of another one.
 */
export async function launchBrowser(t: Pick<Test, 'teardown'>): Promise<ContextMaker> {
  const earlier = await started?.catch(() => undefined)
  if (earlier?.connected !== true) started = undefined
  started ??= startBrowser()
  const browser = await started
  const contexts: BrowserContext[] = []
  t.teardown(async () => {
    if (browser.connected) await Promise.all(contexts.map((context) => context.close()))
  })
  return {
    createBrowserContext: async (options) => {
      const context = await browser.createBrowserContext(options)
      contexts.push(context)
      return context
    },
  }
}

/** Looks each 50 ms whether what is awaited is there. By default each frame is drawn and searched, which takes a second processor. */
const often = { polling: 50 }

export type ConsolePage = {
  readonly page: Page
  /** Errors of scripts, and what the content security policy has blocked. */
  readonly faults: readonly string[]
}

export type PageOptions = {
  readonly width?: number
  readonly height?: number
  readonly isDark?: boolean
}

/** Opens the console with a new link, in a browser context of its own. */
export async function openConsole(
  browser: ContextMaker,
  { link }: Pick<ConsoleServer, 'link'>,
  { width = 1280, height = 900, isDark = false }: PageOptions = {},
): Promise<ConsolePage> {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.setViewport({ width, height })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }])
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript/.test(message.text())) faults.push(message.text())
  })
  // A dialog of a script would be one of an attack: the console has none.
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(await link())
  await page.waitForSelector('.shell')
  return { page, faults }
}

/** Opens a page of the console: `#/tables`. */
export async function openPage(page: Page, fragment: string, heading: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, fragment)
  await page.waitForFunction((text) => document.querySelector('main h1')?.textContent.includes(text), often, heading)
}

/** Clicks the button, link or summary with a text. */
export async function press(page: Page, text: string, within = 'body'): Promise<void> {
  const element = await page.waitForFunction(
    (wanted, selector) =>
      [
        ...document.querySelectorAll<HTMLElement>(`${selector} :is(button, a, summary, [role=button], [role=tab])`),
      ].find((it) => it.textContent.trim() === wanted && it.getClientRects().length > 0 && !it.matches(':disabled')),
    often,
    text,
    within,
  )
  await (element.asElement() as unknown as { readonly click: () => Promise<void> }).click()
}

/** Types into the control with a label, replacing its value. */
export async function fill(page: Page, label: string, value: string, within = 'body'): Promise<void> {
  const element = await page.waitForFunction(
    (wanted, selector) =>
      [...document.querySelectorAll<HTMLLabelElement>(`${selector} label`)].find(
        (it) => it.querySelector('span')?.textContent.trim() === wanted,
      )?.control,
    often,
    label,
    within,
  )
  const control = element.asElement() as unknown as {
    readonly click: (options: { readonly count: number }) => Promise<void>
    readonly type: (text: string) => Promise<void>
    readonly press: (key: 'Backspace') => Promise<void>
  }
  await control.click({ count: 3 })
  await control.press('Backspace')
  await control.type(value)
}

/** Waits until the page shows a text. */
export async function shows(page: Page, text: string, within = 'body'): Promise<boolean> {
  return page
    .waitForFunction(
      (wanted, selector) =>
        [...document.querySelectorAll<HTMLElement>(selector)].some((it) => it.innerText.includes(wanted)),
      often,
      text,
      within,
    )
    .then(
      () => true,
      () => false,
    )
}

/** Looks as a role or a user, by the text of its button in the dialog. */
export async function lookAs(page: Page, name: string): Promise<void> {
  await page.click('.viewer')
  const button = await page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll<HTMLElement>('dialog .choices button')].find((it) =>
        it.textContent.startsWith(wanted),
      ),
    often,
    name,
  )
  await (button.asElement() as unknown as { readonly click: () => Promise<void> }).click()
  await page.waitForFunction(() => !document.querySelector('dialog[open]'))
}
