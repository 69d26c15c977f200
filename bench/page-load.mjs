// How much script the two pages people wait for bring, and how soon they work on a slow device: the inbox of a person signed
// in with 20 requests waiting, and the page that decides one of them. Chromium with its CPU slowed down, nothing cached, by
// loopback and as on slow 4G (150 ms to and fro, 1.6 Mbit/s). Milliseconds since navigation began, medians of 5 loads:
//   painted      first contentful paint (the shell with its heading)
//   ready        the frame in which all rows stand, or the decision form: their handlers were attached before they came in
//   interactive  ready, or the end of the last task of more than 50 ms that began before it
//   answered     after that a press had its effect: the buttons say that one is selected, the comment is counted
// Then how long a request takes from its link to the signed approval by passkey, without the person: from the navigation to
// `interactive`, and from the press to the frame that says it is recorded, less the time the authenticator's prompt was open.
// Usage: npm run build && node bench/page-load.mjs [slow-down of the CPU, 4 if left out]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { readConfig } from '../dist/src/config/config.js'
import { inviteUser } from '../dist/src/flow/joining/invite-user.js'
import { createApiKey } from '../dist/src/flow/keys/manage-api-keys.js'
import { serve } from '../dist/src/serve.js'
import { drawSecrets, silent } from './support/set-up.mjs'

const RUNS = 5
const WAITING = 20
const WAIT_MS = 60_000
const DECISION_GOAL_MS = 1500
const PORT = 3976
const ORIGIN = `http://localhost:${PORT}`
const NETWORKS = {
  loopback: undefined,
  'slow 4G': {
    offline: false,
    latency: 150,
    downloadThroughput: (1.6 * 1024 * 1024) / 8,
    uploadThroughput: (0.75 * 1024 * 1024) / 8,
  },
}

const FORM_THERE = `document.querySelector('.decision-form') !== null`
/** Runs in the page beside `watch`: when Approve was pressed, how long the prompt was open, when the page says what came of it. */
const WATCH_DECISION = `{
  let pressed
  let presses = 0
  let prompt = 0
  addEventListener('click', (event) => {
    presses += 1
    pressed = event.timeStamp
  }, { capture: true })
  const get = navigator.credentials.get
  CredentialsContainer.prototype.get = async function (options) {
    const asked = performance.now()
    presses += 1
    try {
      return await get.call(this, options)
    } finally {
      prompt += performance.now() - asked
    }
  }
  const look = new MutationObserver(() => {
    if (!/our approval is recorded/.test(document.querySelector('main')?.textContent ?? '')) return
    look.disconnect()
    requestAnimationFrame(() => {
      const [interactive, recording] = [benchInteractive(), performance.now() - pressed]
      window.benchDecided = { presses, interactive, recording, prompt, own: interactive + recording - prompt }
    })
  })
  look.observe(document, { childList: true, subtree: true })
}`

if (process.argv[2] === 'serve') await runService()
else await runBench(Math.min(20, Math.max(1, Number(process.argv[2] ?? 4))))

/** The service in a process of its own; it tells its parent the link and the key of the one person in it. */
async function runService() {
  const { deps } = (await serve(readConfig(process.env), { log: silent })).composition
  const { user, link } = await inviteUser(deps, { email: 'bench@example.com' }, { kind: 'cli' })
  const input = { accountId: user.account_id, name: 'bench', sandbox: false }
  const { raw_key: key } = await createApiKey(deps, input, { kind: 'cli' })
  process.send({ link: link.url, key })
  process.on('disconnect', () => process.exit(0))
}

async function runBench(slowdown) {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
  const service = fork(fileURLToPath(import.meta.url), ['serve'], { env: environment(dataDir) })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  try {
    const [{ link, key }] = await once(service, 'message')
    const context = await browser.newContext({ viewport: { width: 412, height: 823 }, locale: 'en-GB' })
    const person = { key, passkeys: await signUp(context, link) }
    const ids = []
    for (let index = 0; index < WAITING; index += 1) ids.push(await ask(key, index))
    const rows = []
    for (const page of pagesFor(ids[0]))
      for (const network of Object.keys(NETWORKS)) rows.push(await measure(context, page, network, slowdown))
    console.log(
      `Chromium ${browser.version()}, CPU slowed down ${slowdown} times, load of this machine ${loadavg()[0].toFixed(1)}:`,
    )
    console.table(rows)
    const decisions = []
    for (const network of Object.keys(NETWORKS))
      decisions.push(await decisionsOn(context, person, network, slowdown))
    console.log(`From the link to the approval by passkey, medians of ${RUNS}; goal ${DECISION_GOAL_MS} ms:`)
    console.table(decisions)
  } finally {
    await browser.close()
    const gone = once(service, 'exit')
    service.disconnect()
    await gone
    await rm(dataDir, { recursive: true, force: true })
  }
}

function environment(dataDir) {
  return { ...drawSecrets(), PATH: process.env.PATH, DATA_DIR: dataDir, PORT: String(PORT), BASE_URL: ORIGIN }
}

/** `there`: everything stands. `press` and `answered`: what is done then, and how its effect shows. */
function pagesFor(id) {
  return [
    {
      name: 'inbox',
      path: '/',
      there: `document.querySelectorAll('.inbox-row').length === ${WAITING}`,
      press: `document.querySelector('.inbox-list input[type="checkbox"]').click()`,
      answered: `document.querySelector('.together').innerText.includes('1 selected')`,
    },
    {
      name: 'hosted page',
      path: `/a/${id}`,
      there: FORM_THERE,
      press: `{
        const comment = document.querySelector('textarea')
        comment.value = 'x'
        comment.dispatchEvent(new InputEvent('input', { bubbles: true }))
      }`,
      answered: `document.querySelector('.counter').textContent.startsWith('1 of')`,
    },
  ]
}

/** @returns the passkeys that were made, to be plugged into other pages */
async function signUp(context, link) {
  const page = await context.newPage()
  const authenticator = await plugIn(await context.newCDPSession(page), [])
  await page.goto(link)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  const passkeys = await authenticator.passkeys()
  await page.close()
  return passkeys
}

async function plugIn(session, passkeys) {
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  for (const credential of passkeys)
    await session.send('WebAuthn.addCredential', { authenticatorId, credential })
  return {
    passkeys: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  }
}

async function ask(key, index) {
  const context = { agent_name: 'bench', reason: 'To see how soon it shows.', tool_arguments: { index } }
  const response = await fetch(`${ORIGIN}/api/v1/approvals/request`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({ action: `Deploy version 1.4.${index} to production`, context }),
  })
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()).id
}

async function measure(context, wanted, network, slowdown) {
  const loads = []
  // The first one warms up the service, not the browser.
  for (let run = 0; run <= RUNS; run += 1) loads.push(await load(context, wanted, network, slowdown))
  const counted = loads.slice(1)
  const median = medianOf(counted)
  return {
    page: wanted.name,
    network,
    'script kB sent': kilobytes(median('sent')),
    'script kB raw': kilobytes(median('raw')),
    files: median('files'),
    painted: Math.round(median('painted')),
    ready: Math.round(median('ready')),
    interactive: Math.round(median('interactive')),
    answered: counted.every(({ answered }) => answered),
  }
}

function medianOf(counted) {
  return (name) => counted.map((one) => one[name]).sort((a, b) => a - b)[Math.floor(counted.length / 2)]
}

async function decisionsOn(context, person, network, slowdown) {
  const decided = []
  for (let run = 0; run <= RUNS; run += 1) decided.push(await decide(context, person, network, slowdown))
  const median = medianOf(decided.slice(1))
  return {
    network,
    presses: median('presses'),
    interactive: Math.round(median('interactive')),
    'press to recorded': Math.round(median('recording')),
    'less the prompt': Math.round(median('prompt')),
    'in all': Math.round(median('own')),
    'of the goal': Number((median('own') / DECISION_GOAL_MS).toFixed(2)),
  }
}

/** One request from its link to its approval, in a page of its own. The signature counter of a passkey goes on from page to page. */
async function decide(context, person, network, slowdown) {
  const id = await ask(person.key, WAITING)
  const page = await context.newPage()
  try {
    const session = await context.newCDPSession(page)
    const authenticator = await plugIn(session, person.passkeys)
    await throttle(session, network, slowdown)
    await page.addInitScript(`${watch(FORM_THERE)}\n${WATCH_DECISION}`)
    await page.goto(`${ORIGIN}/a/${id}`, { waitUntil: 'commit' })
    await until(page, 'window.benchReady !== undefined')
    await page.getByRole('button', { name: 'Approve', exact: true }).click()
    await until(page, 'window.benchDecided !== undefined')
    person.passkeys = await authenticator.passkeys()
    return await page.evaluate('benchDecided')
  } finally {
    await page.close()
  }
}

async function throttle(session, network, slowdown) {
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  if (NETWORKS[network] !== undefined)
    await session.send('Network.emulateNetworkConditions', NETWORKS[network])
}

/** One load in a page of its own, without anything cached. */
async function load(context, { path, there, press, answered }, network, slowdown) {
  const page = await context.newPage()
  try {
    const session = await context.newCDPSession(page)
    const scripts = await countScripts(session)
    await throttle(session, network, slowdown)
    await page.addInitScript(watch(there))
    await page.goto(`${ORIGIN}${path}`, { waitUntil: 'commit' })
    await until(page, 'window.benchReady !== undefined')
    const times = await page.evaluate(`({ ready: benchReady, interactive: benchInteractive(),
      painted: performance.getEntriesByName('first-contentful-paint')[0].startTime })`)
    await page.evaluate(press)
    await until(page, answered)
    return { ...times, ...scripts(), answered: true }
  } finally {
    await page.close()
  }
}

/** Asks from outside: the policy of the pages forbids everything that would wait inside. */
async function until(page, expression) {
  const end = performance.now() + WAIT_MS
  while (!(await page.evaluate(expression))) {
    if (performance.now() > end) throw new Error(`not within ${WAIT_MS} ms: ${expression}`)
    await pause(50)
  }
}

/** Runs in the page before anything else: notes the first frame in which `there` holds, and all long tasks. */
function watch(there) {
  return `{
    const tasks = []
    new PerformanceObserver((list) => tasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true })
    const look = new MutationObserver(() => {
      if (!(${there})) return
      look.disconnect()
      requestAnimationFrame(() => {
        const ready = performance.now()
        // Long tasks are told a moment after they ended.
        setTimeout(() => { window.benchReady = ready }, 500)
      })
    })
    look.observe(document, { childList: true, subtree: true })
    window.benchInteractive = () => tasks
      .filter((task) => task.startTime < window.benchReady)
      .reduce((latest, task) => Math.max(latest, task.startTime + task.duration), window.benchReady)
  }`
}

/** Counts what comes in as script: bytes on the wire with their headers, and bytes the engine reads. */
async function countScripts(session) {
  const found = new Map()
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.mimeType === 'text/javascript') found.set(requestId, { sent: 0, raw: 0 })
  })
  session.on('Network.dataReceived', ({ requestId, dataLength }) => {
    const script = found.get(requestId)
    if (script !== undefined) script.raw += dataLength
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const script = found.get(requestId)
    if (script !== undefined) script.sent = encodedDataLength
  })
  return () => {
    const scripts = [...found.values()]
    const sum = (name) => scripts.reduce((total, script) => total + script[name], 0)
    return { sent: sum('sent'), raw: sum('raw'), files: scripts.length }
  }
}

function kilobytes(bytes) {
  return Number((bytes / 1000).toFixed(1))
}
