import { randomUUID } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { insist, isText } from '../src/ask.ts'
import { countersign } from '../src/client.ts'
import { CountersignError, Invalid } from '../src/errors.ts'
import { copyJson, type Json, type JsonObject } from '../src/json.ts'
import { readCredentials } from './credentials.ts'
import { hashNamedFiles } from './named-files.ts'
import { actionOf, type Shown, showArguments } from './shown-arguments.ts'

const HELP = `countersign hook [--deadline <seconds>]
countersign hook install | uninstall [options]

A command hook of Claude Code and Codex, for PreToolUse or PermissionRequest: reads the call on stdin, asks a person, and allows the call
once it is approved. All else denies it, with exit code 2: a rejection, an error, no answer within --deadline (570 seconds).
The install command writes it into the settings of the host: countersign hook install --help`

/** The exit code that both hosts read as "do not run it", whatever is on stdout, if there is a reason on stderr. */
const DENIED = 2
/** Seconds within which an approval that came last is used. */
const GRACE = 10
/** An approval that came too late for its call serves a repeat of it, but not for ever. */
export const USE_WITHIN_SECONDS = 3600

/** The process that waits for this one. */
const HOST = process.ppid

const EVENTS = ['PreToolUse', 'PermissionRequest'] as const
type HookEvent = (typeof EVENTS)[number]

/** A tool call that is about to run. */
interface Call {
  event: HookEvent
  tool: string
  input: JsonObject
  cwd: string
  /** Of the two hosts only Codex numbers its turns. */
  isCodex: boolean
}

/** `countersign hook`. @returns 0 only for a call that was approved and whose approval is used up */
export async function runHook(argv: string[]): Promise<number> {
  const [first] = argv
  if (first === 'install' || first === 'uninstall')
    return (await import('./hook-install.ts')).runHookInstall(argv)
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  let call: Call | undefined
  const stop = (reason: string) => process.exit(deny(call?.event, reason))
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.once(signal, () =>
      stop(`Not done: the hook was stopped by ${signal}. Repeat the same call later.`),
    )
  // An answer that the host cannot read is none.
  process.stdout.once('error', () => process.exit(DENIED))
  process.once('uncaughtException', (error) => stop(sentenceOf(error)))
  try {
    const { values } = parseArgs({ args: argv, options: { deadline: { type: 'string', default: '570' } } })
    const deadline = Number(/^[1-9]\d*$/.exec(values.deadline)?.[0])
    if (!(deadline > 0)) throw new Invalid('--deadline must be a whole number of seconds.')
    // Of waits that obey no other limit, such as for stdin.
    setTimeout(() => stop(`Not done: the hook's time is over.`), (deadline + GRACE) * 1000).unref()
    call = readCall(await text(process.stdin))
    return allow(call, await approve(call, deadline))
  } catch (error) {
    return deny(call?.event, sentenceOf(error))
  }
}

/** Asks, waits, and uses the approval of exactly this call. @returns the id of the request. @throws for all else */
async function approve(call: Call, deadline: number): Promise<string> {
  const asked = describeCall(call)
  const client = countersign({ ...readCredentials(), unreachableAfterSeconds: deadline })
  const outcome = await client.ask({
    ...asked,
    // The repeat of a call, by another process, joins the request that is still open.
    for: [randomUUID(), 'hook'],
    fields: { reuse: 'open', use_within_seconds: USE_WITHIN_SECONDS },
    withinSeconds: Math.max(0, deadline - performance.now() / 1000),
  })
  const approval = insist(outcome)
  // A host that ended the call leaves this process behind; the approval is for the call's repeat.
  if (process.ppid !== HOST) throw new Invalid('the host has ended the call. Repeat the same call.')
  const unchanged = () => JSON.stringify(describeCall(call)) === JSON.stringify(asked)
  if (unchanged()) {
    await approval.use({ withinSeconds: GRACE })
    // Once more: using it took a moment.
    if (unchanged()) return approval.id
  }
  throw new Invalid(
    'a file that the command names has changed since a person was asked. Repeat the same call.',
  )
}

/** Reads what the host says. @throws Invalid */
export function readCall(given: string): Call {
  const call: Record<string, unknown> = Object(parse(given))
  const { hook_event_name, tool_name: tool, tool_input, cwd } = call
  const event = EVENTS.find((name) => name === hook_event_name)
  if (event === undefined) throw new Invalid(`the hook is for ${EVENTS.join(' and ')}, and nothing else.`)
  const input = copyJson(tool_input ?? null, 'tool_input')
  if (!isText(tool) || !isText(cwd) || !isAbsolute(cwd) || !isObject(input))
    throw new Invalid('the host must name `tool_name`, `tool_input` and `cwd` of the call.')
  return { event, tool, input, cwd, isCodex: 'turn_id' in call }
}

function parse(given: string): unknown {
  try {
    return JSON.parse(given)
  } catch {
    throw new Invalid('the host sent no JSON to the hook.')
  }
}

function isObject(value: Json): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** What a person is asked about a call. */
interface Described extends Omit<Shown, 'note'> {
  action: string
}

/** Says what a person is asked about a call, and sees of it: nothing that differs in a repeat of it. */
export function describeCall({ tool, input, cwd }: Call): Described {
  const given = argumentsOf(tool, input)
  const { command } = given
  const words = [command ?? []].flat().filter(isText)
  const files = hashNamedFiles(words, cwd)
  const rest = { tool, directory: cwd, ...(files.length > 0 && { files: copyJson(files, 'files') }) }
  const about = words.join(' ') || [input.file_path, input.path, input.url].find(isText) || ''
  const { note, ...shown } = showArguments(rest, given)
  return { action: actionOf(`Run ${tool}${note}`, about), ...shown }
}

/** The description of a command is a remark of the model, in other words each time: nothing that runs. */
function argumentsOf(tool: string, input: JsonObject): JsonObject {
  const { description: _, ...rest } = input
  return tool === 'Bash' ? rest : input
}

function allow({ event, isCodex }: Call, id: string): number {
  const reason = `A person approved ${id}.`
  if (event === 'PermissionRequest') answer({ hookEventName: event, decision: { behavior: 'allow' } })
  // To Codex, only silence is a yes: it counts an explicit one as a hook that failed.
  else if (!isCodex)
    answer({ hookEventName: event, permissionDecision: 'allow', permissionDecisionReason: reason })
  return 0
}

function deny(event: HookEvent | undefined, reason: string): number {
  if (event === 'PermissionRequest')
    answer({ hookEventName: event, decision: { behavior: 'deny', message: reason } })
  else if (event !== undefined)
    answer({ hookEventName: event, permissionDecision: 'deny', permissionDecisionReason: reason })
  process.stderr.write(`${reason}\n`)
  return DENIED
}

function answer(hookSpecificOutput: object): void {
  process.stdout.write(`${JSON.stringify({ hookSpecificOutput })}\n`)
}

function sentenceOf(error: unknown): string {
  if (error instanceof CountersignError) return error.sentence
  return `Not done: ${error instanceof Error ? error.message : String(error)}`
}
