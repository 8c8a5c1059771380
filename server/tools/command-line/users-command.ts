// `rowhouse users`: manages the accounts of people, by the functions of the admin API.
import type { Command } from 'commander'
import { nameOf, withMembers, type User } from '../users/user.ts'
import { userText, usersTable, untilOf } from '../users/user-tables.ts'
import type { Users } from '../users/users.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { printable } from './text-table.ts'
import {
  forever,
  newPassword,
  readDuration,
  readMetadata,
  wholeNumber,
  withPassword,
  type NewPassword,
  type PasswordOptions,
} from './users-options.ts'

type Shared = { readonly json?: true; readonly config?: string }
type ListOptions = Shared & { readonly page: number; readonly perPage: number }
type CreateOptions = Shared &
  PasswordOptions & { readonly phone?: string; readonly confirm?: true; readonly metadata?: string }
type DeleteOptions = Shared & { readonly yes?: true; readonly soft?: true }

/** More accounts in one answer cannot be read. */
const maxPageSize = 1000
const maxPage = 1_000_000_000

const withConfig = (command: Command): Command => command.option('-c, --config <file>', 'configuration file')

const printableName = (user: User): string => printable(nameOf(user))

export function addUsers(program: Command, dependencies: Dependencies): void {
  const users = program
    .command('users')
    .description("manage people's accounts: list, create, confirm, ban and delete them, and make administrators")
    .helpCommand(false)
  addReading(users, dependencies)
  addCreate(users, dependencies)
  addChanges(users, dependencies)
  addPasskeys(users, dependencies)
  addDelete(users, dependencies)
}

/** A command about one account. */
const aboutUser = (users: Command, name: string, description: string): Command =>
  withConfig(users.command(name).description(description).argument('<user>', 'address, phone number with +, or id'))

function addReading(users: Command, dependencies: Dependencies): void {
  const { print, loadConfig, withUsers } = dependencies
  withConfig(
    users
      .command('list')
      .description('list accounts, newest first')
      .argument('[filter]', 'part of an address, phone number or full name')
      .option('--page <number>', 'number of the page, from 1', wholeNumber(maxPage), 1)
      .option('--per-page <number>', 'accounts per page', wholeNumber(maxPageSize), 50),
  ).action(async (filter: string | undefined, _own: unknown, command: Command) => {
    const { json, config, page, perPage } = command.optsWithGlobals<ListOptions>()
    const found = await withUsers(loadConfig(config), (opened) => opened.list(filter ?? '', page, perPage))
    if (json) {
      return print(`{"users":[${found.users.map((user) => user.json).join(',')}],"total":${found.total}}\n`)
    }
    const isLast = page * perPage >= found.total
    print(`${usersTable(found, new Date(), isLast ? undefined : `The next ones: --page ${page + 1}`)}\n`)
  })

  aboutUser(users, 'show', 'show an account, with its second factors, passkeys and sessions').action(
    async (name: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const details = await withUsers(loadConfig(config), (opened) => opened.details(name))
      const { user, passkeys, sessions } = details
      print(`${json ? withMembers(user.json, { passkeys, sessions }) : userText(details, new Date())}\n`)
    },
  )
}

/** An account, with its new password if only the program knows it. */
const jsonWith = ({ json }: User, { password, isGenerated }: NewPassword): string =>
  `${isGenerated ? withMembers(json, { password }) : json}\n`

const passwordLine = ({ password, isGenerated }: NewPassword): string =>
  isGenerated ? `Password: ${password ?? ''}\nIt cannot be shown again.\n` : ''

function addCreate(users: Command, dependencies: Dependencies): void {
  const { print, loadConfig, withUsers } = dependencies
  const create = users
    .command('create')
    .description('create an account, and send no mail; without a password, it signs in by codes and links only')
    .argument('[email]', 'address; may be left out with --phone')
    .option('--phone <number>', 'phone number, such as +4930123456')
    .option('--confirm', 'confirm the address and the phone number, as if their owner had proven them')
    .option('--metadata <json>', 'user metadata, such as \'{"full_name": "Ada"}\'', readMetadata)
  withConfig(withPassword(create, false)).action(async (email: string | undefined, _own: unknown, command: Command) => {
    const { json, config: file, phone, confirm, metadata, ...options } = command.optsWithGlobals<CreateOptions>()
    if (email === undefined && phone === undefined) {
      throw new CommandError('Specify an address or --phone, such as: rowhouse users create ada@example.org')
    }
    const config = loadConfig(file)
    const chosen = await newPassword(options, dependencies, config)
    const user = await withUsers(config, (opened) =>
      opened.create({
        ...(email === undefined ? {} : { email, email_confirm: confirm === true }),
        ...(phone === undefined ? {} : { phone, phone_confirm: confirm === true }),
        ...(metadata === undefined ? {} : { user_metadata: metadata }),
        ...(chosen.password === undefined ? {} : { password: chosen.password }),
      }),
    )
    if (json) return print(jsonWith(user, chosen))
    const next = confirm ? '' : `It is not confirmed. To confirm it: rowhouse users confirm ${printableName(user)}\n`
    print(`Created ${printableName(user)}, with the id ${user.id}.\n${passwordLine(chosen)}${next}`)
  })
}

/** A command that changes an account, and prints it as JSON or a sentence. */
type Change = {
  readonly name: string
  readonly description: string
  /** Adds options. */
  readonly options?: (command: Command) => Command
  readonly change: (users: Users, user: User, command: Command) => Promise<User>
  readonly sentence: (user: User) => string
}

const changes: readonly Change[] = [
  {
    name: 'confirm',
    description: 'confirm the address and the phone number of an account, as if its owner had proven them',
    change: (users, user) => {
      const [hasEmail, hasPhone] = [user.email !== '', user.phone !== '']
      if (!hasEmail && !hasPhone) throw new CommandError(`${user.id} has neither an address nor a phone number.`)
      return users.update(user, { email_confirm: hasEmail, phone_confirm: hasPhone })
    },
    sentence: (user) => `Confirmed ${printableName(user)}.`,
  },
  {
    name: 'ban',
    description: 'refuse an account at once, its tokens and sessions included, until the ban ends',
    options: (command) =>
      command.option('--for <duration>', 'such as 12h, 30d or 8w; by default 100 years', readDuration, forever),
    change: (users, user, command) => {
      const { for: hours } = command.opts<{ readonly for: number }>()
      return users.update(user, { ban_duration: `${hours}h` })
    },
    sentence: (user) => `Banned ${printableName(user)} until ${untilOf(user)} (UTC).`,
  },
  {
    name: 'unban',
    description: 'end the ban of an account',
    change: (users, user) => users.update(user, { ban_duration: 'none' }),
    sentence: (user) => `${printableName(user)} is not banned any more.`,
  },
  {
    name: 'make-admin',
    description: 'give an account the app_role admin, at once',
    change: (users, user) => users.setAppRole(user, 'admin'),
    sentence: (user) => `${printableName(user)} has the app_role admin.`,
  },
  {
    name: 'remove-admin',
    description: 'take the app_role admin from an account, at once, for its tokens, too',
    change: (users, user) => {
      if (user.appRole === 'admin') return users.setAppRole(user, null)
      throw new CommandError(
        `${printableName(user)} is no administrator: its app_role is ${printable(user.appRole ?? 'none')}.`,
      )
    },
    sentence: (user) => `${printableName(user)} is no administrator any more.`,
  },
]

function addChanges(users: Command, dependencies: Dependencies): void {
  const { print, loadConfig, withUsers } = dependencies
  for (const { name: verb, description, options = (command: Command) => command, change, sentence } of changes) {
    options(aboutUser(users, verb, description)).action(async (name: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const user = await withUsers(loadConfig(config), async (opened) =>
        change(opened, await opened.find(name), command),
      )
      print(`${json ? user.json : sentence(user)}\n`)
    })
  }
  withPassword(
    aboutUser(users, 'reset-password', 'set a new password, which ends all sessions of the account'),
    true,
  ).action(async (name: string, _own: unknown, command: Command) => {
    const { json, config: file, ...options } = command.optsWithGlobals<Shared & PasswordOptions>()
    const config = loadConfig(file)
    const isAsked = options.generatePassword !== true
    const chosen = await newPassword({ ...options, ...(isAsked ? { passwordStdin: true } : {}) }, dependencies, config)
    const user = await withUsers(config, async (opened) =>
      opened.update(await opened.find(name), { password: chosen.password ?? null }),
    )
    const sentence = `Changed the password of ${printableName(user)}, and ended its sessions.\n`
    print(json ? jsonWith(user, chosen) : `${sentence}${passwordLine(chosen)}`)
  })
}

function addPasskeys(users: Command, { print, loadConfig, withUsers }: Dependencies): void {
  aboutUser(users, 'remove-passkey', 'remove a passkey of an account; its other ways to sign in remain')
    .argument('<passkey>', 'id of the passkey, as “users show” lists it')
    .action(async (name: string, passkey: string, _own: unknown, command: Command) => {
      const { json, config } = command.optsWithGlobals<Shared>()
      const user = await withUsers(loadConfig(config), async (opened) => {
        const found = await opened.find(name)
        await opened.removePasskey(found, passkey)
        return found
      })
      const removed = { id: user.id, passkey, removed: true }
      print(json ? `${JSON.stringify(removed)}\n` : `Removed the passkey ${passkey} of ${printableName(user)}.\n`)
    })
}

function addDelete(users: Command, { print, loadConfig, withUsers }: Dependencies): void {
  aboutUser(users, 'delete', 'delete an account, and the rows of other tables that are deleted with it')
    .option('--soft', 'keep its row, with hashes in the place of addresses')
    .option('--yes', 'confirm that it is to be deleted')
    .action(async (name: string, _own: unknown, command: Command) => {
      const { json, config, yes, soft } = command.optsWithGlobals<DeleteOptions>()
      const user = await withUsers(loadConfig(config), async (opened) => {
        const found = await opened.find(name)
        if (yes !== true) throw unconfirmed(found, soft === true)
        await opened.delete(found, soft === true)
        return found
      })
      print(json ? `${JSON.stringify({ id: user.id, deleted: true })}\n` : `Deleted ${printableName(user)}.\n`)
    })
}

const unconfirmed = (user: User, isSoft: boolean): CommandError =>
  new CommandError(
    `This ends the account ${printableName(user)} with the id ${user.id}` +
      `${isSoft ? '' : ', and deletes the rows of other tables that refer to it with ON DELETE CASCADE'}. ` +
      `To do it: rowhouse users delete ${user.id}${isSoft ? ' --soft' : ''} --yes`,
  )
