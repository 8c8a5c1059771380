// What tests use of the DOM in functions that run in the page. The whole library `dom` has other types for `fetch` and streams
// than Node, which the code of the server would not compile with.
export {}

declare global {
  // Interfaces, because further ones extend them, and the types of puppeteer refer to them.
  interface Node {
    readonly textContent: string
  }
  interface Element extends Node {
    readonly tagName: string
    readonly classList: { contains(name: string): boolean }
    innerHTML: string
    getAttribute(name: string): string | null
    matches(selector: string): boolean
    closest(selector: string): Element | null
    querySelector<E = HTMLElement>(selector: string): E | null
    querySelectorAll<E = HTMLElement>(selector: string): Iterable<E> & { readonly length: number }
    getClientRects(): { readonly length: number }
    getBoundingClientRect(): { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
    scrollTop: number
    readonly scrollHeight: number
    readonly scrollWidth: number
    readonly clientHeight: number
    readonly clientWidth: number
  }
  interface HTMLElement extends Element {
    readonly innerText: string
    click(): void
    focus(): void
  }
  interface HTMLInputElement extends HTMLElement {
    value: string
    checked: boolean
  }
  interface HTMLLabelElement extends HTMLElement {
    readonly control: HTMLElement | null
  }
  interface Document extends Element {
    readonly body: HTMLElement
    readonly documentElement: HTMLElement
    readonly activeElement: HTMLElement | null
    readonly title: string
  }
  const document: Document
  const location: { hash: string; readonly href: string }
  const localStorage: { getItem(name: string): string | null; setItem(name: string, value: string): void }
}
