import type { Command } from 'commander'
import { type CommandResult, oneOf } from './terminal.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** A command with the words that may follow it. */
interface Words {
  /** The names that lead to it, such as `user invite`; empty for the program. */
  path: string
  words: string[]
  /** Those of the options that a value follows. */
  valued: string[]
}

/** `countersign completion`: prints a script that completes commands and options in that shell. */
export function runCompletion(shell: string, program: Command): CommandResult {
  const kind = oneOf(SHELLS, shell, 'shell')
  const text = kind === 'fish' ? fish(wordsOf(program)) : bash(wordsOf(program), kind === 'zsh')
  return { value: { shell: kind, script: text }, text }
}

function wordsOf(command: Command, path: string[] = []): Words[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help')
  const options = help.visibleOptions(command).filter(({ long }) => long !== undefined)
  const namesOf = (some: typeof options): string[] => some.flatMap(({ long }) => long ?? [])
  const here = {
    path: path.join(' '),
    words: [...commands.map((one) => one.name()), ...namesOf(options)],
    valued: namesOf(options.filter(({ required }) => required)),
  }
  return [here, ...commands.flatMap((one) => wordsOf(one, [...path, one.name()]))]
}

/**
 * Of the words before the cursor those count that continue the name of a command: the others are options, their values and
 * arguments. Where nothing fits, and for the value of an option, the shell offers files.
 */
function bash(all: Words[], inZsh: boolean): string {
  const cases = all.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`)
  const zsh = 'autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n'
  const paths = namesOfCommands(all).map((path) => `'${path}'`)
  return `${inZsh ? zsh : ''}_countersign() {
  local at='' words='' word=''
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "\${at:+$at }$word" in
      ${paths.join('|')}) at="\${at:+$at }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$word" in ${valuedOf(all).join('|')}) return ;; esac
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _countersign countersign`
}

function fish(all: Words[]): string {
  const lines = all.flatMap(({ path, words, valued }) =>
    words.map((word) => {
      const at = `-n 'test "$(__countersign_path)" = "${path}"'`
      const option = `-l ${word.slice(2)}${valued.includes(word) ? ' -r' : ''}`
      return `complete -c countersign ${at} ${word.startsWith('--') ? option : `-f -a ${word}`}`
    }),
  )
  const paths = namesOfCommands(all).map((path) => `'${path}'`)
  return [
    'function __countersign_path',
    '  set -l at',
    '  for word in (commandline -opc)[2..-1]',
    '    set -l next (string join -- " " $at $word)',
    `    contains -- $next ${paths.join(' ')}; and set at $next`,
    '  end',
    '  echo $at',
    'end',
    ...lines,
  ].join('\n')
}

function namesOfCommands(all: Words[]): string[] {
  return all.map(({ path }) => path).filter((path) => path !== '')
}

function valuedOf(all: Words[]): string[] {
  return [...new Set(all.flatMap(({ valued }) => valued))]
}
