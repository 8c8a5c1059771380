// The templates of all kinds of mails: those of the settings, else the default ones.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { limitedBytes } from '../../limited-bytes.ts'
import { tracedFetch } from '../../traced-fetch.ts'
import { defaultTemplates } from './default-templates.ts'
import { GoTemplate } from './go-template.ts'
import { htmlToText } from './html-text.ts'
import type { CustomMailKind, MailContent } from '../settings.ts'
import { mailKinds, variablesOf, type MailKind, type MailVariables } from './mail-kind.ts'
import { headerText } from './mail-message.ts'

/** Where the templates of a kind of mail come from; null or absent for the default. */
export type TemplateSources = Pick<MailContent, 'subject' | 'template'>

export type MailTemplatesOptions = {
  /** The current settings, by kind. */
  readonly contents: () => ReadonlyMap<CustomMailKind, TemplateSources>
  /** Is called with a complete sentence when a template cannot be used. */
  readonly onProblem: (message: string) => void
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Milliseconds to wait for a template. */
  readonly timeout?: number
}

export type RenderedMail = { readonly subject: string; readonly html: string; readonly text: string }

type Loaded<T> = { readonly source: string; readonly value: T; readonly loadedAt: number }

/** Milliseconds after which a template is read again. */
const maxAge = 10 * 60_000
/** Bytes. */
const maxLength = 1_000_000

export class MailTemplates {
  readonly #options: MailTemplatesOptions
  readonly #now: () => number
  readonly #timeout: number
  readonly #subjects = new Map<MailKind, Loaded<GoTemplate>>()
  readonly #bodies = new Map<MailKind, Loaded<GoTemplate>>()
  readonly #loading = new Map<MailKind, Promise<GoTemplate>>()

  constructor(options: MailTemplatesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#timeout = options.timeout ?? 5_000
  }

  /** Reads all templates of the settings, so that problems are reported at the start. Never rejects. */
  async load(): Promise<void> {
    await Promise.all(mailKinds.map((kind) => this.#body(kind)))
    for (const kind of mailKinds) this.#subject(kind)
  }

  /**
   * A mail of a kind. A template that cannot be used is replaced by its last usable version or by the default, and
   * reported.
   */
  async render(kind: MailKind, variables: MailVariables): Promise<RenderedMail> {
    const html = (await this.#body(kind)).render(variables)
    return { subject: headerText(this.#subject(kind).render(variables)), html, text: htmlToText(html) }
  }

  #content(kind: MailKind): TemplateSources | undefined {
    return kind === 'existing_account' ? undefined : this.#options.contents().get(kind)
  }

  #subject(kind: MailKind): GoTemplate {
    const source = this.#content(kind)?.subject ?? defaultTemplates[kind].subject
    const known = this.#subjects.get(kind)
    if (known?.source === source) return known.value
    let value: GoTemplate
    try {
      value = new GoTemplate(source, 'text', variablesOf[kind])
    } catch (error) {
      this.#report(`GOTRUE_MAILER_SUBJECTS_${kind.toUpperCase()}`, error)
      value = new GoTemplate(defaultTemplates[kind].subject, 'text', variablesOf[kind])
    }
    this.#subjects.set(kind, { source, value, loadedAt: this.#now() })
    return value
  }

  async #body(kind: MailKind): Promise<GoTemplate> {
    const location = this.#content(kind)?.template ?? ''
    const known = this.#bodies.get(kind)
    if (known?.source === location && (location === '' || this.#now() < known.loadedAt + maxAge)) return known.value
    const running = this.#loading.get(kind)
    if (running) return running
    const loading = this.#loadBody(kind, location, known).finally(() => this.#loading.delete(kind))
    this.#loading.set(kind, loading)
    return loading
  }

  async #loadBody(kind: MailKind, location: string, known: Loaded<GoTemplate> | undefined): Promise<GoTemplate> {
    const byDefault = new GoTemplate(defaultTemplates[kind].html, 'html', variablesOf[kind])
    let value = byDefault
    if (location !== '') {
      try {
        value = new GoTemplate(await readTemplate(location, this.#timeout), 'html', variablesOf[kind])
      } catch (error) {
        this.#report(`GOTRUE_MAILER_TEMPLATES_${kind.toUpperCase()}`, error)
        if (known?.source === location) value = known.value
      }
    }
    this.#bodies.set(kind, { source: location, value, loadedAt: this.#now() })
    return value
  }

  #report(setting: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    this.#options.onProblem(`${setting}: ${reason}. Mails use the last usable template, or the default.`)
  }
}

const tooLong = (): Error => new Error(`it is longer than ${String(maxLength)} bytes`)

/** @throws Error whose message says why the template cannot be read */
async function readTemplate(location: string, timeout: number): Promise<string> {
  const signal = AbortSignal.timeout(timeout)
  try {
    const source = /^https?:/i.test(location) ? await download(location, signal) : await openFile(location)
    return (await limitedBytes(source, maxLength, tooLong)).toString()
  } catch (error) {
    // An error of the file system names the path itself.
    if (error instanceof Error && 'path' in error) throw error
    const reason = signal.aborted ? `it took more than ${String(timeout / 1000)} seconds` : reasonOf(error)
    throw new Error(`${location} cannot be read: ${reason}`, { cause: error })
  }
}

/** The message of what `fetch` failed with, which is more specific than its own. */
const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}

type Chunks = AsyncIterable<Uint8Array>

async function download(url: string, signal: AbortSignal): Promise<Chunks> {
  const response = await tracedFetch(url, { signal })
  if (response.ok && response.body) return response.body
  await response.body?.cancel()
  throw new Error(`status ${String(response.status)}`)
}

async function openFile(location: string): Promise<Chunks> {
  const path = location.startsWith('file:') ? fileURLToPath(location) : location
  // A device or a pipe could be read for ever.
  if (!(await stat(path)).isFile()) throw new Error('it is not a file')
  return createReadStream(path)
}
