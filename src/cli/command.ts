import type { Command } from 'commander'
import { answerInJson, type CommandResult, tell } from './terminal.ts'

export const JSON_OPTION = [
  '--json',
  'output for programs: JSON on stdout, errors as JSON on stderr',
] as const

interface Json {
  json?: boolean
}

/** Adds examples to the help of a command. */
export function examples(command: Command, ...lines: string[]): void {
  command.addHelpText('after', ['\nExamples:', ...lines].join('\n  '))
}

/** Commands that another program runs, and what each does. */
export type Foreign = Readonly<Record<string, { about: string }>>

/** Names them in the help and for the shell, and no more. @returns the program */
export function nameForeign(program: Command, commands: Foreign): Command {
  for (const [name, { about }] of Object.entries(commands))
    program.command(name).description(about).helpGroup('Commands of callers:')
  return program
}

/** Completes a command that answers with a `CommandResult`, in words or as JSON. */
export function answers<Options extends object>(
  command: Command,
  run: (options: Options, ...arguments_: string[]) => CommandResult | Promise<CommandResult>,
): void {
  command.option(...JSON_OPTION).action(async () => {
    // Includes the parents' options: they take --json from their subcommands.
    const options = command.optsWithGlobals<Options & Json>()
    if (options.json) answerInJson()
    tell(await run(options, ...command.args))
  })
}
