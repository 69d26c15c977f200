// Whether an inbox with 2,000 pending requests scrolls without a stutter: Chromium with its CPU slowed down, on a desk (list and
// reading pane) and on a phone. Per window:
//   rows          from the navigation to the first rows, and to all of them
//   scroll        gaps between frames while the wheel goes from the first row to the last, and the longest task of that time
//   new ones      the same, while a new request comes every 2 s
//   search, j     from the press to the frame that shows its effect
// Usage: npm run build && node bench/inbox-scroll.mjs [requests, 2000 if left out] [slow-down of the CPU, 4]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { readConfig } from '../dist/src/config/config.js'
import { cookieName } from '../dist/src/domain/cookie-name.js'
import { serve } from '../dist/src/serve.js'
import { newPerson } from './support/person.mjs'
import { drawSecrets, silent } from './support/set-up.mjs'

const GOAL_MS = 50
const WAIT_MS = 120_000
const PORT = 3977
const ORIGIN = `http://localhost:${PORT}`
const WINDOWS = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } }
const KINDS = 10
const count = Number(process.argv[3])

/** Runs in the page before anything else. */
const WATCH = `{
  window.benchRows = 0
  const count = () => {
    const rows = document.querySelectorAll('.inbox-row').length
    if (rows > benchRows) {
      window.benchFirst ??= Math.round(performance.now())
      window.benchLast = Math.round(performance.now())
    }
    window.benchRows = rows
  }
  new MutationObserver(() => requestAnimationFrame(count)).observe(document, { childList: true, subtree: true })
  let gaps
  let tasks
  let last
  new PerformanceObserver((list) => tasks?.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })
  const frame = (now) => {
    if (gaps === undefined) return
    if (last !== undefined) gaps.push(now - last)
    last = now
    requestAnimationFrame(frame)
  }
  window.benchBegin = () => {
    ;[gaps, tasks, last] = [[], [], undefined]
    requestAnimationFrame(frame)
  }
  window.benchEnd = () => {
    const all = gaps.sort((a, b) => a - b)
    gaps = undefined
    return {
      frames: all.length,
      p99: Math.round(all[Math.floor(all.length * 0.99)]),
      longest: Math.round(all.at(-1)),
      task: Math.round(Math.max(0, ...tasks)),
    }
  }
}`

if (process.argv[2] === 'serve') await runService()
else await runBench(Number(process.argv[2] ?? 2000), Math.min(20, Math.max(1, Number(process.argv[3] ?? 4))))

/** The service in a process of its own: one person, for whom `count` requests of several keys and accounts are pending. */
async function runService() {
  const { composition } = await serve(readConfig(process.env), { log: silent })
  const person = await newPerson(composition, 1, ORIGIN)
  const requests = composition.connection.collection('requests')
  const first = await requests.findOne({ _id: await ask(person.live, 0) })
  const copies = Array.from({ length: count - 1 }, (_, n) => ({
    ...first,
    _id: `req_${String(n).padStart(26, '0')}`,
    action: actionOf(n + 1),
    requested_by: { key_name: `agent ${n % 7}`, account_name: `Team ${n % 5}` },
    high_impact: n % 9 === 0,
    expires_at: new Date(first.expires_at.getTime() + n * 250),
    outbox: [],
    audit: [],
  }))
  for (let n = 0; n < copies.length; n += 200) await requests.insertMany(copies.slice(n, n + 200))
  process.send({ session: person.cookie, key: person.live })
  process.on('disconnect', () => process.exit(0))
}

async function runBench(requests, slow) {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  const env = {
    ...{ ...drawSecrets(), PATH: process.env.PATH, DATA_DIR: dataDir, PORT: String(PORT), BASE_URL: ORIGIN },
  }
  const service = fork(fileURLToPath(import.meta.url), ['serve', String(requests)], { env })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  try {
    const [{ session, key }] = await once(service, 'message')
    const rows = []
    for (const window of Object.keys(WINDOWS))
      rows.push(await inWindow(browser, { window, requests, slow, session, key }))
    console.log(
      `Chromium ${browser.version()}, ${requests} requests, CPU slowed down ${slow} times, load of this machine ${loadavg()[0].toFixed(1)}; ms:`,
    )
    console.table(rows)
    const worst = Math.max(...rows.map((row) => row['scroll longest']))
    console.log(
      `${worst <= GOAL_MS ? 'ok  ' : 'MISS'} frames of ${GOAL_MS} ms at most while scrolling: ${worst} ms`,
    )
  } finally {
    await browser.close()
    const gone = once(service, 'exit')
    service.disconnect()
    await gone
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function inWindow(browser, { window, requests, slow, session, key }) {
  const context = await browser.newContext({ viewport: WINDOWS[window], locale: 'en-GB' })
  await context.addCookies([{ name: cookieName('countersign', ORIGIN), value: session, url: ORIGIN }])
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slow })
  await page.addInitScript(WATCH)
  await page.goto(ORIGIN, { waitUntil: 'commit' })
  await until(page, 'window.benchRows > 0')
  const first = await page.evaluate('benchFirst')
  await until(page, `window.benchRows >= ${requests}`)
  const all = await page.evaluate('benchLast')
  // Whatever loads late has come.
  await pause(3000)
  const plain = await scrollThrough(page)
  await page.evaluate('scrollTo(0, 0)')
  await pause(1000)
  const stop = new AbortController()
  const coming = keepAsking(key, stop.signal)
  const busy = await scrollThrough(page)
  stop.abort()
  await coming
  await page.evaluate('scrollTo(0, 0)')
  await pause(1500)
  const search = await effectOf(
    page,
    `{
    const box = document.querySelector('input[type="search"]')
    box.value = 'invoice 7'
    box.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }`,
  )
  await effectOf(
    page,
    `{
    const box = document.querySelector('input[type="search"]')
    box.value = ''
    box.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }`,
  )
  const j = await effectOf(
    page,
    `document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))`,
  )
  const group = await effectOf(page, `;[...document.querySelectorAll('.inbox-narrow input')].at(-1).click()`)
  await context.close()
  return {
    window,
    'first rows': first,
    'all rows': all,
    frames: plain.frames,
    'scroll p99': plain.p99,
    'scroll longest': plain.longest,
    'longest task': plain.task,
    'new ones p99': busy.p99,
    'new ones longest': busy.longest,
    search,
    group,
    j,
  }
}

/** Turns the wheel until the page ends. Its frames are counted from the first turn to a second after the last. */
async function scrollThrough(page) {
  const { width, height } = page.viewportSize()
  await page.mouse.move(width / 4, height / 2)
  await page.evaluate('benchBegin()')
  let before = -1
  for (;;) {
    await page.mouse.wheel(0, 400)
    await pause(16)
    const at = await page.evaluate('scrollY')
    if (at === before && (await isAtEnd(page))) break
    before = at
  }
  await pause(1000)
  return page.evaluate('benchEnd()')
}

function isAtEnd(page) {
  return page.evaluate('scrollY + innerHeight >= document.documentElement.scrollHeight - 2')
}

/** Milliseconds from the press to the end of the second frame after it: then its effect is drawn. */
function effectOf(page, press) {
  return page.evaluate(`new Promise((done) => {
    const pressed = performance.now()
    ${press}
    requestAnimationFrame(() => requestAnimationFrame(() => done(Math.round(performance.now() - pressed))))
  })`)
}

async function keepAsking(key, signal) {
  for (let n = 0; !signal.aborted; n += 1) {
    await ask(key, n)
    await pause(2000, undefined, { signal }).catch(() => {})
  }
}

function actionOf(n) {
  return `Pay invoice ${n} of Example Corp, ${125 + (n % 400)}.00 EUR, kind ${n % KINDS}`
}

async function ask(key, n) {
  const context = { agent_name: 'bench', reason: 'To see how it scrolls.', tool_arguments: { invoice: n } }
  const response = await fetch(`${ORIGIN}/api/v1/approvals/request`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({ action: actionOf(n), context, ttl_seconds: 3600 }),
  })
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()).id
}

/** Asks from outside: the policy of the pages forbids everything that would wait inside. */
async function until(page, expression) {
  const end = performance.now() + WAIT_MS
  while (!(await page.evaluate(expression))) {
    if (performance.now() > end) throw new Error(`not within ${WAIT_MS} ms: ${expression}`)
    await pause(50)
  }
}
