import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, vi } from 'vitest'
import { connectMarionette } from './marionette.ts'
import { PATIENCE_MS } from './patience.ts'
import { freePort } from './service.ts'

/** Sends one command of the W3C's WebDriver, by Firefox's name of it; `id` is that of an element. */
export type Send = (command: string, parameters?: Record<string, unknown>) => Promise<unknown>

/** A browser that is not Chromium: Playwright drives builds of its own only, so these are driven by the W3C's WebDriver. */
export interface Engine {
  name: string
  /** What must be installed. */
  needs: readonly string[]
  /** `atEnd` is told what ends each part of it, also where the next part then does not start. */
  start(atEnd: (end: () => Promise<void>) => void): Promise<Send>
}

const FIREFOX = process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr'
const WEBKIT_DRIVER = '/usr/bin/WebKitWebDriver'
const XVFB = '/usr/bin/Xvfb'

/** With an authenticator of its own, which confirms by itself. */
export const FIREFOX_ENGINE: Engine = { name: 'Firefox', needs: [FIREFOX], start: startFirefox }
/** What is nearest to Safari outside of Apple's systems. It has no passkeys. */
export const WEBKIT_ENGINE: Engine = { name: 'WebKit', needs: [WEBKIT_DRIVER, XVFB], start: startWebKit }

/** `describe` for tests that need this engine: skipped with a loud notice where it is not installed. */
export function describeOnEngine({ name, needs }: Engine, suite: () => void): void {
  const missing = needs.filter((path) => !existsSync(path))
  if (missing.length === 0) return void describe(name, suite)
  console.warn(
    `\n*** NO ${name.toUpperCase()}: ${missing.join(', ')} is missing; its tests are SKIPPED. ***\n`,
  )
  describe.skip(name, suite)
}

/** The authenticator is Firefox's own in software; without the other pref it would look for one on USB, too. */
const PREFERENCES = {
  'security.webauth.webauthn_enable_softtoken': true,
  'security.webauth.webauthn_enable_usbtoken': false,
  'app.normandy.enabled': false,
}

async function startFirefox(atEnd: (end: () => Promise<void>) => void): Promise<Send> {
  const profile = await mkdtemp(join(tmpdir(), 'countersign-firefox-'))
  atEnd(() => rm(profile, { recursive: true, force: true }))
  const port = await freePort()
  const lines = Object.entries({ ...PREFERENCES, 'marionette.port': port }).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  )
  await writeFile(join(profile, 'user.js'), lines.join('\n'))
  const args = ['--headless', '--marionette', '--remote-allow-system-access', '--no-remote']
  args.push('--profile', profile, 'about:blank')
  const firefox = spawn(FIREFOX, args, { stdio: 'ignore' })
  atEnd(() => endOf(firefox))
  const send = await eventually(firefox, () => connectMarionette(port))
  await send('WebDriver:NewSession')
  await send('WebAuthn:AddVirtualAuthenticator', {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserConsenting: true,
    isUserVerified: true,
  })
  return async (command, parameters = {}) => {
    const answer = await send(command, parameters)
    if (command === 'WebDriver:SetWindowRect') await narrow(send, Number(parameters.width))
    return answer
  }
}

/** A window of Firefox is never narrower than 500 px, so it is the page in it that has the width of a phone. */
async function narrow(send: Send, width: number): Promise<void> {
  const script = 'gBrowser.selectedBrowser.style.maxWidth = arguments[0]'
  await send('Marionette:SetContext', { value: 'chrome' })
  await send('WebDriver:ExecuteScript', { script, args: [`${width}px`] })
  await send('Marionette:SetContext', { value: 'content' })
}

/** There is no desktop's bus to look for, and no graphics card to draw with. */
const WITHOUT_DESKTOP = {
  NO_AT_BRIDGE: '1',
  WEBKIT_SKIA_ENABLE_CPU_RENDERING: '1',
  WEBKIT_DISABLE_DMABUF_RENDERER: '1',
  WEBKIT_DISABLE_COMPOSITING_MODE: '1',
}

/** WebKit's driver opens WebKitGTK's small browser, which needs a display: one that nobody sees. */
async function startWebKit(atEnd: (end: () => Promise<void>) => void): Promise<Send> {
  // Without `-noreset` it starts anew whenever its last client leaves, and tells its number to a pipe that is closed.
  const screen = ['-displayfd', '3', '-screen', '0', '1400x1200x24', '-nolisten', 'tcp', '-noreset']
  const xvfb = spawn(XVFB, screen, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  atEnd(() => endOf(xvfb))
  const port = await freePort()
  const env = { ...process.env, ...WITHOUT_DESKTOP, DISPLAY: await toldDisplay(xvfb) }
  const driver = spawn(WEBKIT_DRIVER, [`--port=${port}`], { stdio: 'ignore', env })
  atEnd(() => endOf(driver))
  const url = `http://127.0.0.1:${port}/session`
  await eventually(driver, () => fetch(`http://127.0.0.1:${port}/status`))
  const made = await call('POST', url, { capabilities: {} })
  const session = `${url}/${String(Object(made).sessionId)}`
  atEnd(async () => void (await call('DELETE', session)))
  return (command, parameters = {}) => {
    const [method = '', path = ''] = (OVER_HTTP[command] ?? command).split(' ')
    return call(method, session + path.replace(':id', String(parameters.id)), parameters)
  }
}

const OVER_HTTP: Record<string, string> = {
  'WebDriver:Navigate': 'POST /url',
  'WebDriver:Back': 'POST /back',
  'WebDriver:GetCurrentURL': 'GET /url',
  'WebDriver:ExecuteScript': 'POST /execute/sync',
  'WebDriver:ElementClick': 'POST /element/:id/click',
  'WebDriver:ElementSendKeys': 'POST /element/:id/value',
  'WebDriver:SetWindowRect': 'POST /window/rect',
  'WebDriver:TakeScreenshot': 'GET /screenshot',
  'WebDriver:AddCookie': 'POST /cookie',
  'WebDriver:DeleteAllCookies': 'DELETE /cookie',
}

/** The browser's process ended by itself, and with it the session. */
export class EngineCrash extends Error {
  override readonly name = 'EngineCrash'
}

async function call(method: string, url: string, body?: object): Promise<unknown> {
  const sent = method === 'POST' ? { body: JSON.stringify(body) } : {}
  // The driver itself would wait for ever for a browser that did not start.
  const response = await fetch(url, { method, ...sent, signal: AbortSignal.timeout(PATIENCE_MS) })
  const { value } = Object(await response.json())
  const { error } = Object(value)
  // The second is what WebKit's driver says of what was under way as the process ended.
  if (error === 'invalid session id' || error === 'unknown error') throw new EngineCrash(`${method} ${url}`)
  if (!response.ok) throw new Error(`${method} ${url}: ${JSON.stringify(value)}`)
  return value
}

async function toldDisplay(xvfb: ChildProcess): Promise<string> {
  const told = xvfb.stdio[3]
  if (!(told instanceof Readable)) throw new Error('Xvfb has nowhere to tell its display')
  const [number] = await once(told, 'data')
  return `:${String(number).trim()}`
}

/** The answer of `attempt`, as soon as it gives one. */
function eventually<T>(child: ChildProcess, attempt: () => Promise<T>): Promise<T> {
  const tried = (): Promise<T> => {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    return attempt()
  }
  return vi.waitFor(tried, { timeout: PATIENCE_MS, interval: 100 })
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}
