import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Invalid } from '../src/errors.ts'
import { writeWhole } from './credentials.ts'

const HELP = `countersign hook install [options]
countersign hook uninstall [options]

Writes the hook into .claude/settings.json of this folder, and keeps all other settings.

  --user              into the settings of the user instead of this folder
  --codex             for Codex: into .codex/hooks.json
  --event <name>      PreToolUse: every call that matches (default); PermissionRequest: those for which the host itself would ask
  --matcher <regex>   the tools it asks about; by default commands, edits and the tools of MCP servers
  --dry-run           print the file as it would be, and change nothing
  --force             also for a host that runs the call when the hook fails`

const OPTIONS = {
  user: { type: 'boolean', default: false },
  codex: { type: 'boolean', default: false },
  event: { type: 'string', default: 'PreToolUse' },
  matcher: { type: 'string', default: 'Bash|PowerShell|Edit|Write|NotebookEdit|apply_patch|mcp__.*' },
  'dry-run': { type: 'boolean', default: false },
  force: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const

/** Seconds after which the host ends the hook, and by which the hook itself has denied. */
const TIMEOUT = 600
const DEADLINE = 570
/** The first version of Claude Code with `onFailure: "block"`. */
const FAILS_CLOSED = [2, 1, 295] as const

type Entries = Record<string, unknown>

/** `countersign hook install` and `uninstall`. @throws Invalid, which says why nothing was written */
export function runHookInstall(argv: string[]): number {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true })
  const { user, codex, event, matcher, force } = values
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  if (positionals.length !== 1) throw new Invalid('hook install takes options only.')
  if (event !== 'PreToolUse' && event !== 'PermissionRequest')
    throw new Invalid('--event must be PreToolUse or PermissionRequest.')
  const path = settingsPath(user, codex)
  const before = readSettings(path)
  const settings = withoutHook(before)
  const isInstall = positionals[0] === 'install'
  if (isInstall) {
    const gap = codex ? CODEX_GAP : claudeGap()
    const refusal = `${gap} Add --force to install it all the same.`
    if (gap !== undefined && !force && !values['dry-run']) throw new Invalid(refusal)
    if (gap !== undefined) process.stderr.write(`${force ? gap : refusal}\n`)
    const others = codex
      ? []
      : [settingsPath(true, false), '.claude/settings.json', '.claude/settings.local.json']
    for (const one of [path, ...others])
      if (readSettings(one).disableAllHooks === true)
        throw new Invalid(`${one} sets disableAllHooks: no hook would run.`)
    addHook(settings, event, { matcher, hooks: [hookOf(codex)] })
  }
  const after = `${JSON.stringify(settings, null, 2)}\n`
  if (values['dry-run']) {
    process.stdout.write(after)
    return 0
  }
  if (JSON.stringify(settings) !== JSON.stringify(before)) {
    mkdirSync(dirname(path), { recursive: true })
    writeWhole(path, after)
  }
  process.stdout.write(`${isInstall ? 'Installed' : 'No longer installed'}: ${path}\n`)
  if (isInstall && codex) process.stdout.write('Codex runs it once you trust it: open /hooks in Codex.\n')
  return 0
}

const CODEX_GAP =
  'Codex cannot fail closed: it runs the call if it has to end the hook at its time-out, cannot start it, or was not told to trust it.'

function claudeGap(): string | undefined {
  return gapOf(spawnSync('claude', ['--version'], { encoding: 'utf8', timeout: 20_000 }).stdout)
}

/** @param version what `claude --version` says. @returns why this Claude Code lets calls through, undefined if it does not */
export function gapOf(version: string | null): string | undefined {
  const [text, ...numbers] = /(\d+)\.(\d+)\.(\d+)/.exec(version ?? '') ?? []
  const needs = `Claude Code before ${FAILS_CLOSED.join('.')} runs the call when a hook cannot start, crashes or meets its time-out`
  if (text === undefined) return `${needs}, and \`claude --version\` did not say which version this is.`
  const [different] = FAILS_CLOSED.map((wanted, index) => Number(numbers[index]) - wanted).filter(Boolean)
  return (different ?? 0) < 0 ? `${needs}, and this is ${text}.` : undefined
}

function settingsPath(user: boolean, codex: boolean): string {
  if (codex) {
    const { CODEX_HOME } = process.env
    return user ? join(CODEX_HOME || join(homedir(), '.codex'), 'hooks.json') : join('.codex', 'hooks.json')
  }
  const { CLAUDE_CONFIG_DIR } = process.env
  const folder = user ? CLAUDE_CONFIG_DIR || join(homedir(), '.claude') : '.claude'
  return join(folder, 'settings.json')
}

function readSettings(path: string): Entries {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw error
  }
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text)
    const hooks = isEntries(value) ? (value.hooks ?? {}) : undefined
    if (isEntries(value) && isEntries(hooks) && Object.values(hooks).every(Array.isArray)) return value
  } catch {
    // Said below.
  }
  throw new Invalid(`${path} holds no settings as JSON, so it was left as it is.`)
}

/** A copy of the settings without what an earlier `install` wrote, and without what is then empty. */
function withoutHook(settings: Entries): Entries {
  const { hooks, ...others } = settings
  const left = Object.entries(isEntries(hooks) ? hooks : {}).flatMap(([event, groups]) => {
    if (!Array.isArray(groups)) return [[event, groups]]
    const kept = groups.flatMap((group: unknown) => {
      if (!isEntries(group) || !Array.isArray(group.hooks)) return [group]
      const foreign = group.hooks.filter((hook: unknown) => !isOurs(hook))
      return foreign.length === 0 && group.hooks.length > 0 ? [] : [{ ...group, hooks: foreign }]
    })
    return kept.length === 0 && groups.length > 0 ? [] : [[event, kept]]
  })
  if (!isEntries(hooks) || (left.length === 0 && Object.keys(hooks).length > 0)) return others
  return { ...settings, hooks: Object.fromEntries(left) }
}

function addHook(settings: Entries, event: string, group: Entries): void {
  const hooks = isEntries(settings.hooks) ? settings.hooks : {}
  const groups: unknown = hooks[event]
  settings.hooks = { ...hooks, [event]: [...(Array.isArray(groups) ? groups : []), group] }
}

const MARK = 'countersign did not allow this call.'

/** The hook as both hosts know it. The shell denies whatever becomes of the program, and gives the reason without which that is no denial. */
function hookOf(codex: boolean): Entries {
  const program = [process.execPath, realpathSync(process.argv[1] ?? fileURLToPath(import.meta.url))]
  const command = `${program.map(quote).join(' ')} hook --deadline ${DEADLINE}`
  return {
    type: 'command',
    command: `${command} || { echo '${MARK}' >&2; exit 2; }`,
    timeout: TIMEOUT,
    ...(!codex && { onFailure: 'block' }),
    statusMessage: 'Waiting for a person to decide',
  }
}

function isOurs(hook: unknown): boolean {
  return isEntries(hook) && typeof hook.command === 'string' && hook.command.includes(MARK)
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function isEntries(value: unknown): value is Entries {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
