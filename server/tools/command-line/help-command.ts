// The command `rowhouse help`: the help of the program or of a command, and the guides.
import type { Command } from 'commander'
import { findGuides, guideForTerminal, readGuides, type Guide } from '../../services/guides/guides.ts'
import { CommandError } from './command-error.ts'
import type { Dependencies } from './dependencies.ts'
import { textTable } from './text-table.ts'

/** Adds the command, which comes last: it knows the others. */
export function addHelp(program: Command, { print }: Dependencies): void {
  program
    .helpCommand(false)
    .command('help [topic]')
    .description('print this help, that of a command, or a guide; "help guides" lists them')
    .action(async (topic: string | undefined, _own: unknown, command: Command) => {
      if (topic === undefined) program.help()
      const named = program.commands.find((it) => it.name() === topic)
      if (named) named.help()
      const guides = topic === 'guides' ? await readGuides() : findGuides(await readGuides(), topic)
      const [guide, ...more] = guides
      if (!guide)
        throw new CommandError(`There is no command and no guide "${topic}". "rowhouse help guides" lists the guides.`)
      const { json } = command.optsWithGlobals<{ readonly json?: true }>()
      if (json) print(`${JSON.stringify(guides)}\n`)
      else print(more.length === 0 ? guideForTerminal(guide) : `${list(guides)}\n`)
    })
}

const columns = [
  { title: 'TOPIC', width: 40 },
  { title: 'TITLE', width: 60 },
]

const list = (guides: readonly Guide[]): string =>
  textTable(
    columns,
    guides.map(({ topic, title }) => [topic, title]),
  )
