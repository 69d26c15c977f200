// Loaded by `coverage.mjs` into every process of a run. A worker of the tests ends by a signal, before Node would write what it
// ran: it writes that itself after each test file. What its browsers ran is asked of them before a page closes.
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const folder = process.env.NODE_V8_COVERAGE
const COUNTED = { callCount: true, detailed: true }

if (folder && process.argv[1]?.endsWith('vitest/dist/workers/forks.js')) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', COUNTED)
  // A listener of its own would have the messages that Vitest does not listen for yet.
  const send = process.send.bind(process)
  process.send = (message, ...more) => {
    if (/^(testfileFinished|stopped)$/.test(Object(message).type))
      session.post('Profiler.takePreciseCoverage', (_, taken) => write(taken, /\/dist\/.*\.js$/))
    return send(message, ...more)
  }
  const { chromium } = await import('playwright-core')
  const launch = chromium.launch.bind(chromium)
  chromium.launch = async (options) => {
    const browser = await launch(options)
    const newContext = browser.newContext.bind(browser)
    browser.newContext = async (more) => counted(await newContext(more))
    return browser
  }
}

/**
 * A page that no test sees counts for all of its profile: they share a process (`--renderer-process-limit=1`), and one that
 * stopped counting as it closes would stop it for the others.
 */
async function counted(context) {
  const page = await context.newPage()
  const pages = context.pages.bind(context)
  context.pages = () => pages().filter((other) => other !== page)
  const session = await context.newCDPSession(page)
  await session.send('Profiler.enable')
  await session.send('Profiler.startPreciseCoverage', COUNTED)
  const take = async () => {
    const taken = await session.send('Profiler.takePreciseCoverage').catch(() => undefined)
    write(taken, /^http.*\.js$/)
  }
  before(context, 'close', take)
  // The place that a process has is that page's, and stays when others close.
  const newSession = context.newCDPSession.bind(context)
  context.newCDPSession = async (target) => {
    const own = await newSession(target)
    const send = own.send.bind(own)
    own.send = (method, given) =>
      /^Emulation.set(Locale|Timezone)Override$/.test(method) ? Promise.resolve() : send(method, given)
    return own
  }
  context.on('page', (opened) => before(opened, 'close', take))
  return context
}

function write(taken, counted) {
  const result = (taken?.result ?? []).filter(({ url }) => counted.test(url))
  if (result.length > 0) writeFileSync(join(folder, `${randomUUID()}.json`), JSON.stringify({ result }))
}

function before(target, name, first) {
  const call = target[name].bind(target)
  target[name] = async (...given) => {
    await first()
    return call(...given)
  }
}
