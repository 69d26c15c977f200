import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { readPeer } from '../src/client.ts'
import { Invalid } from '../src/errors.ts'
import { readCredentials } from './credentials.ts'
import { openDesk } from './gateway/desk.ts'
import { openRulebook } from './gateway/judge.ts'
import { listTools } from './gateway/list-tools.ts'
import { lockPath } from './gateway/pins.ts'
import { readLines, TooLong } from './gateway/read-lines.ts'
import { createRelay } from './gateway/relay.ts'
import type { Link } from './gateway/server-process.ts'
import { openLink } from './gateway/server-url.ts'
import { visibleLine } from './shown-arguments.ts'

// Else most of what a thousand calls hold while they wait would be garbage.
for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=10']) setFlagsFromString(flag)

const HELP = `countersign gateway --config <file> [options] -- <server command or address>

Stands between an MCP host, on stdin and stdout, and an MCP server: a command that speaks on stdin and stdout, or an address. Passes
everything but calls of tools, which the rules of the file allow, deny, or hold until a person approved them. Exit code: 0 when the host
leaves, 1 when the server does, 20 if it cannot start.

  --config <file>   the rules, in YAML or JSON
  --list            print the server's tools with the rule for each, and what has changed since they were pinned
  --pin             the same, and pin the tools as they are now, beside the file (gate.lock.json for
                    gate.yaml): allow holds for a pinned tool only
  --allow-sandbox   let the decision of a sandbox key count: for trials only`

const OPTIONS = {
  config: { type: 'string' },
  list: { type: 'boolean' },
  pin: { type: 'boolean' },
  'allow-sandbox': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** `countersign gateway`. @returns the exit code. @throws Invalid if it cannot start */
export async function runGateway(argv: string[]): Promise<number> {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const { values } = parseArgs({ args: argv.slice(0, end), options: OPTIONS })
  const server = argv.slice(end + 1)
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  if (!values.config || !server[0])
    throw new Invalid(
      'gateway takes a configuration and a server, as in: countersign gateway --config gate.yaml -- npx some-mcp-server',
    )
  const path = resolve(values.config)
  if (values.list || values.pin) return listTools(path, server, { pin: values.pin === true })
  const allowSandbox = values['allow-sandbox'] === true
  return relay(path, server, allowSandbox)
}

/** Relays until the host or the server leaves. */
async function relay(path: string, server: readonly string[], allowSandbox: boolean): Promise<number> {
  const rules = openRulebook(path)
  const { gate, pins } = rules()
  const onRetry = (why: string) => say(`the approval service did not answer (${why}); trying again.`)
  const desk = openDesk(readPeer({ ...readCredentials(), allowSandbox, onRetry }), say)
  if (pins.size === 0) say(`${lockPath(path)} pins no tool: allow holds for none. See --pin.`)
  const { stdin, stdout } = process
  let code = 0
  const relay = createRelay({
    rules,
    desk,
    link: () => link,
    write: (line) => void stdout.write(Buffer.concat([Buffer.from(line), NEWLINE])),
    say,
    ended(sentence) {
      // The host has left, and so the server does.
      if (stdin.readableEnded || stdin.destroyed) return
      say(sentence)
      code = 1
      stdin.destroy()
    },
  })
  const link: Link = openLink(server, gate, relay)
  const leave = () => stdin.destroy()
  stdout.on('error', leave)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, leave)
  try {
    for await (const line of readLines(stdin)) if (line.length > 0) relay.take(line.toString())
  } catch (error) {
    if (error instanceof TooLong) {
      say(error.message)
      code = 1
    } else if (!stdin.destroyed) throw error
  }
  relay.stop()
  await link.close()
  return code
}

const NEWLINE = Buffer.from('\n')

function say(words: string): void {
  process.stderr.write(`countersign gateway: ${visibleLine(words)}\n`)
}
