import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { PATIENCE_MS } from './patience.ts'
import { freePort } from './service.ts'
import { createSlackLimits, type SlackLimits } from './slack-limits.ts'
import { callEmulator, type SlackProxy, startSlackProxy } from './slack-proxy.ts'

export interface SlackOptions {
  /** Members of the workspace; `name` is lower case. */
  users?: readonly { name: string; email: string }[]
  /** Refuses too many calls, as Slack does; a number: on a clock that goes that many times faster; a function: on this clock. */
  limits?: boolean | number | (() => number)
  teamName?: string
  /** Scopes of the bot token, enforced when named. */
  scopes?: readonly string[]
  /** Where OAuth may send people back to. */
  redirectUris?: readonly string[]
}

/** A message as Slack keeps it. */
export interface SlackMessage {
  ts: string
  text: string
  user: string
  blocks?: unknown[]
  thread_ts?: string
  edited?: { user: string; ts: string }
  reply_count?: number
  unfurl_links?: boolean
  unfurl_media?: boolean
  mrkdwn?: boolean
  [field: string]: unknown
}

/** A Slack workspace on 127.0.0.1: an independent emulator holds people, channels and messages. */
export interface SlackEmulator extends Pick<SlackProxy, 'calls' | 'behave' | 'letRead'> {
  /** For `SLACK_API_URL`; ends in `/api/`. */
  apiUrl: string
  /** Where OAuth's consent page is: `<siteUrl>/oauth/v2/authorize`. */
  siteUrl: string
  botToken: string
  botUserId: string
  teamId: string
  teamName: string
  clientId: string
  clientSecret: string
  /** The user id of a member by name. @throws when there is none */
  user(name: string): string
  /** Messages of the app to that person, oldest first, without thread replies. */
  dmOf(userId: string): Promise<SlackMessage[]>
  /** Messages of a conversation, oldest first, without thread replies. */
  history(channel: string): Promise<SlackMessage[]>
  /** Replies under a message, oldest first. */
  threadOf(channel: string, ts: string): Promise<SlackMessage[]>
  /** A public channel; the app is in it unless told otherwise. @returns its id */
  addChannel(name: string, options?: { withApp?: boolean }): Promise<string>
  /** Any call as the app, past limits and records. */
  call(method: string, args?: Record<string, string>): Promise<Record<string, unknown>>
  close(): Promise<void>
}

const BOT_TOKEN = 'xoxb-emulated-0123456789'
/** The app again, past the scopes under test: reads what it sent. */
const READER_TOKEN = 'xoxb-emulated-reader'
/** Makes channels the app is not in. */
const ADMIN_TOKEN = 'xoxp-emulated-admin'
const BOT_USER = 'U0COUNTERSIGN'
const CLIENT = { clientId: '12345.67890', clientSecret: 'emulated-client-secret' }
const ALL_SCOPES =
  'chat:write,commands,im:write,im:history,channels:read,channels:history,channels:join,groups:read,users:read,users:read.email,team:read'

/** Starts one; it ends with the test. */
export async function useSlack(options: SlackOptions = {}): Promise<SlackEmulator> {
  const slack = await startSlack(options)
  onTestFinished(() => slack.close())
  return slack
}

/** Starts one; close it yourself. */
export async function startSlack(options: SlackOptions = {}): Promise<SlackEmulator> {
  const scopes = options.scopes?.join(',') ?? ALL_SCOPES
  const emulator = await startEmulator(seedOf(options))
  const limits = limitsOf(options.limits)
  const proxy = await startSlackProxy(emulator.url, { limits, tokens: new Map([[BOT_TOKEN, scopes]]) })
  const call = async (method: string, args: Record<string, string> = {}, token = READER_TOKEN) => {
    const answer: Record<string, unknown> = Object(await callEmulator(emulator.url, method, args, token))
    if (answer.ok !== true) throw new Error(`${method}: ${String(answer.error)}`)
    return answer
  }
  const users = new Map<string, string>()
  for (const { name, email } of options.users ?? []) {
    const { user } = await call('users.lookupByEmail', { email }, ADMIN_TOKEN)
    users.set(name, String(Object(user).id))
  }
  const team = await call('auth.test', {})
  return {
    ...proxy,
    ...CLIENT,
    ...conversations(call),
    call: (method, args) => call(method, args),
    apiUrl: `${proxy.url}/api/`,
    siteUrl: proxy.url,
    botToken: BOT_TOKEN,
    botUserId: BOT_USER,
    teamId: String(team.team_id),
    teamName: String(team.team),
    user(name) {
      const id = users.get(name)
      if (id === undefined) throw new Error(`no member ${name}`)
      return id
    },
    async close() {
      await proxy.close()
      await emulator.close()
    },
  }
}

function limitsOf(limits: SlackOptions['limits'] = false): SlackLimits | undefined {
  if (limits === false) return undefined
  if (typeof limits === 'function') return createSlackLimits(1, limits)
  return createSlackLimits(limits === true ? 1 : limits)
}

type Call = (
  method: string,
  args?: Record<string, string>,
  token?: string,
) => Promise<Record<string, unknown>>

function conversations(call: Call): Pick<SlackEmulator, 'dmOf' | 'history' | 'threadOf' | 'addChannel'> {
  const history = async (channel: string): Promise<SlackMessage[]> => {
    const messages: SlackMessage[] = []
    let cursor = ''
    do {
      const page = await call('conversations.history', { channel, limit: '1000', cursor })
      messages.push(...messagesOf(page))
      cursor = String(Object(page.response_metadata).next_cursor ?? '')
    } while (cursor !== '')
    return messages.reverse()
  }
  return {
    history,
    async dmOf(userId) {
      const { channels } = await call('conversations.list', { types: 'im', limit: '1000' })
      const found: unknown[] = Array.isArray(channels) ? channels : []
      const dm = found.map(Object).find(({ user }) => user === userId)
      return dm === undefined ? [] : history(String(dm.id))
    },
    async threadOf(channel, ts) {
      const found = messagesOf(await call('conversations.replies', { channel, ts }))
      return found.filter((message) => message.ts !== ts)
    },
    async addChannel(name, { withApp = true } = {}) {
      const { channel } = await call('conversations.create', { name }, ADMIN_TOKEN)
      const id = String(Object(channel).id)
      if (withApp) await call('conversations.invite', { channel: id, users: BOT_USER }, ADMIN_TOKEN)
      return id
    },
  }
}

function messagesOf({ messages }: Record<string, unknown>): SlackMessage[] {
  return Array.isArray(messages) ? messages : []
}

function seedOf({ users = [], teamName, scopes, redirectUris = [] }: SlackOptions): object {
  const app = { app_id: 'A0COUNTERSIGN', client_id: CLIENT.clientId, bot_id: 'B0COUNTERSIGN' }
  const granted = scopes ?? ALL_SCOPES.split(',')
  return {
    slack: {
      team: { name: teamName ?? 'Acme', domain: 'acme' },
      users,
      oauth_apps: [
        {
          ...app,
          client_secret: CLIENT.clientSecret,
          name: 'Countersign',
          redirect_uris: redirectUris,
          scopes: granted,
          bot_user_id: BOT_USER,
          bot_name: 'countersign',
        },
      ],
      tokens: [
        { ...app, token: BOT_TOKEN, type: 'bot', user_id: BOT_USER, bot_user_id: BOT_USER, scopes: granted },
        { ...app, token: READER_TOKEN, type: 'bot', user_id: BOT_USER, bot_user_id: BOT_USER },
        { token: ADMIN_TOKEN, type: 'user', user_id: 'U000000001' },
      ],
      strict_scopes: scopes !== undefined,
    },
  }
}

const PRELOAD = packagePath('test/support/loopback-only.cjs')

/** The emulator in a process of its own, on 127.0.0.1. */
async function startEmulator(seed: object): Promise<{ url: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-slack-'))
  const seedFile = join(folder, 'seed.json')
  await writeFile(seedFile, JSON.stringify(seed))
  const port = String(await freePort())
  const cli = fileURLToPath(import.meta.resolve('emulate/cli'))
  const arguments_ = ['--require', PRELOAD, cli, 'start', '-s', 'slack', '-p', port, '--seed', seedFile]
  const child = spawn(process.execPath, arguments_, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  const close = async (): Promise<void> => {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  const url = `http://127.0.0.1:${port}`
  try {
    await untilAnswers(child, url)
  } catch (cause) {
    await close()
    throw new Error(`the Slack emulator did not start:\n${output}`, { cause })
  }
  return { url, close }
}

async function untilAnswers(child: ChildProcess, url: string): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  while (Date.now() < until && child.exitCode === null && child.signalCode === null) {
    const answer = await fetch(`${url}/api/auth.test`, { method: 'POST' }).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('no answer')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
