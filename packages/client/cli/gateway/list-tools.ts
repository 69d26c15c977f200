import { Invalid } from '../../src/errors.ts'
import { parseMessage } from '../mcp-message.ts'
import { visibleLine } from '../shown-arguments.ts'
import { openRulebook } from './judge.ts'
import { lockPath, mergeTools, pinOf, type Tool, writePins } from './pins.ts'
import type { Gate } from './read-gate.ts'
import { isAbout, type Rule } from './rules.ts'
import type { Link } from './server-process.ts'
import { openLink } from './server-url.ts'
import { createToolList } from './tool-list.ts'

const CLIENT = { name: 'countersign gateway', version: '1' }
/** Of the older kind, which every server speaks that is not of the newest kind alone. */
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'initialize',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT },
}
/** What a request says about its client since revision 2026-07-28. */
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** `countersign gateway --list` and `--pin`. @throws Invalid if the server gives no list */
export async function listTools(
  path: string,
  server: readonly string[],
  { pin }: { pin: boolean },
): Promise<number> {
  const { gate, pins } = openRulebook(path)()
  const tools = await readTools(server, gate)
  const width = Math.max(...tools.map(({ name }) => name.length))
  for (const tool of tools) {
    const state = pinOf(pins, mergeTools(tools.filter(({ name }) => name === tool.name)))
    print(`${tool.name.padEnd(width)}  ${state.padEnd(10)}  ${wordsFor(gate, tool.name)}`)
  }
  const names = tools.map(({ name }) => name)
  for (const name of pins.keys())
    if (!names.includes(name)) print(`${name}: pinned, and no tool of this server`)
  for (const rule of gate.rules)
    for (const problem of problemsOf(rule, tools)) print(`${rule.at}: ${problem}`)
  if (!pin) return 0
  writePins(lockPath(path), tools)
  print(`Pinned ${tools.length} tools in ${lockPath(path)}`)
  return 0
}

function print(line: string): void {
  process.stdout.write(`${visibleLine(line)}\n`)
}

/** The rules that a tool may meet, up to the first that it always does. */
function wordsFor({ rules, unlisted }: Gate, name: string): string {
  const about = rules.filter((rule) => isAbout(rule, name))
  const last = about.findIndex(({ when }) => when.length === 0)
  const met = last < 0 ? about : about.slice(0, last + 1)
  const words = met.map(
    ({ at, effect, when }) => `${effect} (${at}${when.length > 0 ? ', by arguments' : ''})`,
  )
  return [...words, ...(last < 0 ? [`${unlisted} (no rule)`] : [])].join(', else ')
}

/** What can be said only before the server's own list: a rule for a tool, or an argument, that there is not. */
function problemsOf(rule: Rule, tools: readonly Tool[]): string[] {
  const about = tools.filter(({ name }) => isAbout(rule, name))
  if (about.length === 0) return ['it matches no tool of this server']
  const paths = [
    ...rule.when.map(({ path }) => path),
    ...[...(rule.title ?? '').matchAll(/\{([^{}]+)\}/g)].map(([, path = '']) => path),
  ]
  return about.flatMap(({ name, definition }) => {
    const properties = Object(Object(definition.inputSchema).properties)
    const first = new Set(paths.map((path) => path.split('/')[0] ?? ''))
    return [...first]
      .filter((one) => !Object.hasOwn(properties, one))
      .map((one) => `${name} has no argument ${one}`)
  })
}

async function readTools(server: readonly string[], gate: Gate): Promise<Tool[]> {
  let link: Link | undefined
  let [ended, problem]: (string | undefined)[] = []
  const list = createToolList((message) => link?.send(JSON.stringify(message), message))
  try {
    const answered = new Promise<object>((resolve) => {
      link = openLink(server, gate, {
        message(line) {
          const message = parseMessage(line.toString()) ?? {}
          if (!list.isAnswer(message) && message.method === undefined && message.id === INITIALIZE.id)
            resolve(message)
        },
        failed(id, sentence) {
          problem = sentence
          if (!list.failed(id)) resolve({})
        },
        ended(sentence) {
          ended = sentence
          list.stop()
          resolve({})
        },
      })
      link.send(JSON.stringify(INITIALIZE), INITIALIZE)
    })
    const isOlder = 'result' in (await answered)
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' }
    if (isOlder) link?.send(JSON.stringify(initialized), initialized)
    if (ended === undefined) await list.refresh(isOlder ? {} : META)
  } finally {
    await link?.close()
  }
  if (list.all().length === 0) throw new Invalid(ended ?? problem ?? 'the MCP server lists no tools.')
  return list.all()
}
