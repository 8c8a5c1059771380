// A page in Node.js, for clients that expect a browser.
import type { Test } from 'tap'
import type { Installation } from './installation.ts'

type JsDom = { readonly JSDOM: new (html: string, options: object) => { readonly window: Window } }
type Window = Readonly<Record<string, unknown>> & { readonly close: () => void }

/** Properties of `window` that programs expect as globals, other than those of Node.js. */
const globals = [
  'window',
  'document',
  'location',
  'navigator',
  'localStorage',
  'HTMLElement',
  'Element',
  'Node',
] as const

/**
 * Makes the globals of a page, with the package jsdom of the client, for the duration of a test.
 *
 * @param url address of the page
 */
export async function openWindow(
  t: Pick<Test, 'teardown'>,
  { load }: Pick<Installation, 'load'>,
  url = 'http://app.example/',
): Promise<void> {
  const { JSDOM } = await load<JsDom>('jsdom')
  const { window } = new JSDOM('<!doctype html><div id="root"></div>', { url, pretendToBeVisual: true })
  const before = new Map(globals.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]))
  for (const name of globals) {
    Object.defineProperty(globalThis, name, { value: window[name] ?? window, configurable: true, writable: true })
  }
  t.teardown(() => {
    for (const [name, property] of before) {
      if (property === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, property)
    }
    window.close()
  })
}
