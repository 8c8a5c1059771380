// Which names objects may have: those of Supabase's storage, and with the setting `storage-unicode-names` letters beyond ASCII.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { StorageDatabase } from './storage-database.ts'
import type { StorageSettings } from './settings.ts'
import { storageErrors } from './storage-error.ts'

const ascii = /^[A-Za-z0-9_/!.*'() &$=@;:+,?-]+$/

/**
 * The same with everything beyond ASCII except what no text contains or what changes how a name looks: control characters,
 * lone surrogates, noncharacters, ends of lines, and overrides of the direction of writing.
 */
const unicode =
  /^(?:[A-Za-z0-9_/!.*'() &$=@;:+,?-]|(?![\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u202a-\u202e\u2066-\u2069])[^\0-\x7f])+$/u

const isAscii = (name: string): boolean => !/[^\0-\x7f]/.test(name)

/** Bytes, as in S3. */
const longestName = 1024

/** A folder that other programs would take for the same or the parent one. */
const dotSegment = /(?:^|\/)\.{1,2}(?:\/|$)/

/** Nothing that could be seen: lists would show an object without a name. */
const invisible = /^[\s/\p{Cf}]*$/u

/**
 * Whether Supabase's rule for names applies: the tables were set up by its storage, which may serve them beside this server
 * or again, or a check constraint restricts the names.
 */
const restricted = new JsonStatement(
  `select to_json(
     to_regclass('storage.migrations') is not null
     or exists (
       select from pg_catalog.pg_constraint
       join pg_catalog.pg_attribute on attrelid = conrelid and attnum = any (conkey) and attname = 'name'
       where conrelid = to_regclass('storage.objects') and contype = 'c'
     )
   )`,
  { access: 'read', hasNoEffect: true },
)

/** Milliseconds until the database is asked again. */
const validity = 60_000

export class ObjectNames {
  readonly #database: Pick<StorageDatabase, 'admin'>
  readonly #settings: () => Pick<StorageSettings, 'storageUnicodeNames'>
  /** What the database has said last. */
  #known: { readonly until: number; readonly isRestricted: Promise<boolean> } | undefined

  /** @param settings read at each use, because they can be reloaded */
  constructor(database: Pick<StorageDatabase, 'admin'>, settings: () => Pick<StorageSettings, 'storageUnicodeNames'>) {
    this.#database = database
    this.#settings = settings
  }

  /**
   * Checks the name of an object.
   *
   * @throws StorageError 400 `InvalidKey`
   */
  async require(name: string): Promise<void> {
    const isValid = Buffer.byteLength(name) <= longestName && (isAscii(name) ? ascii : unicode).test(name)
    if (!isValid || (!isAscii(name) && !(await this.#allowsUnicode()))) {
      throw storageErrors.invalidKey(name.slice(0, longestName))
    }
  }

  /**
   * Checks the name of an object that is created. Those of a database that was set up elsewhere may be blank or have segments
   * `.` and `..`, and can be read and removed.
   *
   * @throws StorageError 400 `InvalidKey`
   */
  async requireNew(name: string): Promise<void> {
    await this.require(name)
    if (dotSegment.test(name) || invisible.test(name)) throw storageErrors.invalidKey(name)
  }

  async #allowsUnicode(): Promise<boolean> {
    return this.#settings().storageUnicodeNames ?? !(await this.#isRestricted())
  }

  #isRestricted(): Promise<boolean> {
    if (this.#known && Date.now() < this.#known.until) return this.#known.isRestricted
    const isRestricted = this.#database.admin(restricted, []).then(([row]) => row?.[0] === 'true')
    this.#known = { until: Date.now() + validity, isRestricted }
    // A failure is not kept.
    isRestricted.catch(() => (this.#known = undefined))
    return isRestricted
  }
}
