import { CountersignError, Expired, Invalid, Used } from '../src/errors.ts'
import { EXIT } from './exit-codes.ts'

/** Each command is loaded when it is called: a hook has to start fast. The service's `countersign` names them in its help. */
export const CALLER_COMMANDS: Readonly<
  Record<string, { about: string; load(): Promise<(argv: string[]) => Promise<number>> }>
> = {
  ask: {
    about: 'ask a person, and wait for the decision',
    load: async () => (await import('./ask.ts')).runAsk,
  },
  gateway: {
    about: 'stand in front of an MCP server: rules and approvals for its tools',
    load: async () => (await import('./gateway.ts')).runGateway,
  },
  hook: {
    about: 'let a person approve the calls of Claude Code or Codex; hook install sets it up',
    load: async () => (await import('./hook.ts')).runHook,
  },
  login: {
    about: 'check an API key and keep it for these commands',
    load: async () => (await import('./login.ts')).runLogin,
  },
  logout: {
    about: 'remove the key that login saved',
    load: async () => (await import('./login.ts')).runLogout,
  },
  mcp: {
    about: 'speak the Model Context Protocol on stdin and stdout',
    load: async () => (await import('./mcp.ts')).runMcp,
  },
  run: {
    about: 'run a command after a person approved it',
    load: async () => (await import('./run.ts')).runCommand,
  },
}

/** Checks whether the service's own `countersign` hands this command on. */
export function isCallerCommand(name: string | undefined): boolean {
  return name !== undefined && Object.hasOwn(CALLER_COMMANDS, name)
}

/** Runs a command of a caller. What went wrong is one sentence on stderr. @returns the exit code */
export async function runCaller([name = 'help', ...argv]: readonly string[]): Promise<number> {
  try {
    const command = Object.hasOwn(CALLER_COMMANDS, name) ? CALLER_COMMANDS[name] : undefined
    if (command !== undefined) return await (await command.load())(argv)
    if (!['help', '--help', '-h'].includes(name))
      throw new Invalid(`there is no command ${name}.\n${usage()}`)
    process.stdout.write(`${usage()}\n`)
    return 0
  } catch (error) {
    process.stderr.write(`countersign: ${sentenceOf(error)}\n`)
    // Another command that waited for the same request may have used the approval first.
    if (error instanceof Used) return EXIT.used
    return error instanceof Expired ? EXIT.expired : EXIT.couldNotAsk
  }
}

function usage(): string {
  const lines = Object.entries(CALLER_COMMANDS).map(
    ([name, { about }]) => `  countersign ${name.padEnd(7)} ${about}`,
  )
  return `Usage:\n${lines.join('\n')}\n\nThe service and the key: COUNTERSIGN_URL and COUNTERSIGN_KEY, or else what login saved.`
}

/** Errors of the client speak to people; those of Node name the file or option at fault. */
function sentenceOf(error: unknown): string {
  if (error instanceof CountersignError) return error.sentence
  return error instanceof Error ? error.message : String(error)
}
