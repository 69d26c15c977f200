import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core'
import { describe } from 'vitest'
import { PATIENCE_MS } from './patience.ts'

/** Chromium with its windows: only this one shows notifications and a passkey prompt of its own. */
export const FULL_BROWSER = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
/** The same engine without them, where it is installed: it draws the same pages for half the CPU. */
const LEAN_BROWSER = '/usr/bin/chromium-headless-shell'
const EXECUTABLE =
  process.env.CHROMIUM_PATH === undefined && existsSync(LEAN_BROWSER) ? LEAN_BROWSER : FULL_BROWSER

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Every profile starts a renderer, which costs more than most pages do: no spare ones beside it, no process for drawing.
  '--renderer-process-limit=1',
  '--disable-site-isolation-trials',
  '--in-process-gpu',
  '--disable-gpu-compositing',
]

/**
 * `describe` for tests that need a real browser. Without Chromium they are skipped with a loud notice on a developer's
 * machine and fail where `CI` is set: a green run there must mean that the page was looked at.
 */
export function describeInBrowser(name: string, suite: () => void, executable = EXECUTABLE): void {
  if (existsSync(executable) || process.env.CI) return void describe(name, suite)
  console.warn(`\n*** NO BROWSER: ${executable} is missing; "${name}" is SKIPPED. Set CHROMIUM_PATH. ***\n`)
  describe.skip(name, suite)
}

const launched = new Map<string, Promise<Browser>>()

/**
 * The Chromium of this worker, without any contact to the outside: its files share it, each test has a profile of its own. It
 * ends with the worker. @throws when it is not installed.
 */
export async function sharedBrowser(executable = EXECUTABLE): Promise<Browser> {
  const browser = await launched.get(executable)?.catch(() => undefined)
  if (browser?.isConnected()) return browser
  const launching = chromium.launch({
    executablePath: executable,
    headless: true,
    args: FLAGS,
    timeout: PATIENCE_MS,
  })
  launched.set(executable, launching)
  return launching
}

/** One person's browser: own cookies, one page, and everything suspicious that happened in it. */
export interface Visitor {
  context: BrowserContext
  page: Page
  /** Dialogs, CSP and Trusted Types violations, uncaught errors, requests to other hosts. Must stay empty. */
  incidents: string[]
}

/** Where a visitor is, if the test does not say. */
export const PLACE = { locale: 'en-GB', timezoneId: 'UTC' }

/** Opens a fresh profile at `origin`. */
export async function newVisitor(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    baseURL: origin,
    reducedMotion: 'reduce',
    ...PLACE,
    ...options,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return watch(await context.newPage(), origin)
}

/** Notes what happens in a new page that belongs to `origin`. */
export async function watch(page: Page, origin: string): Promise<Visitor> {
  const incidents: string[] = []
  await page.exposeBinding('reportViolation', (_, text: string) => incidents.push(`csp ${text}`))
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    reportViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample)
  })`)
  page.on('dialog', (dialog) => {
    incidents.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => incidents.push(`error ${error.message}`))
  page.on('request', (request) => {
    const { origin: target, protocol } = new URL(request.url())
    if (target !== origin && protocol !== 'data:' && protocol !== 'blob:')
      incidents.push(`request ${request.url()}`)
  })
  return { context: page.context(), page, incidents }
}

/**
 * Stops the page's clock, also on the pages that it opens next: nothing there looks again by itself until `clock.runFor`.
 * (`clock.install` alone lets the time go on.)
 */
export async function stopClock({ clock }: Page): Promise<void> {
  const now = Date.now()
  await clock.install({ time: now })
  // The moment must not be over when the page hears of it.
  await clock.pauseAt(now + 60_000)
}

/** A platform authenticator that holds resident keys and confirms by itself, as after a touch of the finger. */
export async function addAuthenticator({
  context,
  page,
}: Visitor): Promise<{ session: CDPSession; id: string }> {
  const session = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  return { session, id: await plugIn(session, 'internal') }
}

/** Adds an authenticator; a browser has at most one `internal` one, further ones are security keys on `usb`. */
export async function plugIn(session: CDPSession, transport: 'internal' | 'usb'): Promise<string> {
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return authenticatorId
}

/** For an init script: `window.shifts` are all that moved under the reader, with how far. */
export const NOTE_SHIFTS = `window.shifts = []
  new PerformanceObserver((list) => shifts.push(...list.getEntries()))
    .observe({ type: 'layout-shift', buffered: true })`

/** Evaluates when what is on the page now was painted. */
export const PAINTED =
  'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Runs axe, and again where a part began to load meanwhile: what loads is dimmed on purpose. */
const AXE_AT_REST = `(async () => {
  const busy = () => document.querySelector('[aria-busy="true"]') !== null
  const frame = () => new Promise(requestAnimationFrame)
  for (;;) {
    for (await frame(); busy(); ) await frame()
    let dimmed = false
    const observer = new MutationObserver((seen) => {
      dimmed ||= busy() || seen.some(({ oldValue }) => oldValue === 'true')
    })
    const attributes = { attributeFilter: ['aria-busy'], attributeOldValue: true }
    observer.observe(document, { subtree: true, childList: true, ...attributes })
    const { violations } = await axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      resultTypes: ['violations'],
      // None of these rules reads style sheets or media, which axe would fetch once more.
      preload: false,
    })
    observer.disconnect()
    if (!dimmed) return violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | '))
  }
})()`

/**
 * Runs axe-core with all WCAG 2.2 A/AA rules and best practices, once nothing loads.
 * @returns one line per violation
 */
export async function axeViolations(page: Page): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource)
  const lines: unknown = await page.evaluate(AXE_AT_REST)
  return Array.isArray(lines) ? lines.map(String) : [`axe gave ${String(lines)}`]
}

/** How many pixels the page is wider than the window; 0 is right. */
export async function overflow(page: Page): Promise<number> {
  const pixels: unknown = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  return typeof pixels === 'number' ? pixels : Number.NaN
}
