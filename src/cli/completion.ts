import type { Command } from 'commander'
import { type CommandResult, oneOf } from './terminal.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** A command with the words that may follow it. */
interface Words {
  /** The names that lead to it, such as `user invite`; empty for the program. */
  path: string
  words: string[]
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
  const options = help.visibleOptions(command).flatMap(({ long }) => long ?? [])
  const here = { path: path.join(' '), words: [...commands.map((one) => one.name()), ...options] }
  return [here, ...commands.flatMap((one) => wordsOf(one, [...path, one.name()]))]
}

/** Of the words before the cursor those count that are names of commands. Where nothing fits, the shell offers files. */
function bash(all: Words[], inZsh: boolean): string {
  const cases = all.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`)
  const zsh = 'autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n'
  return `${inZsh ? zsh : ''}_countersign() {
  local path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _countersign countersign`
}

function fish(all: Words[]): string {
  const lines = all.flatMap(({ path, words }) =>
    words.map((word) => {
      const at = `-n 'test "$(__countersign_path)" = "${path}"'`
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c countersign ${at} ${what}`
    }),
  )
  return [
    'function __countersign_path',
    '  set -l words (commandline -opc)',
    '  string join " " (string match -v -- "-*" $words[2..-1])',
    'end',
    ...lines,
  ].join('\n')
}
