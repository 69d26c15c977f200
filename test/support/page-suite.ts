import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { newVisitor, sharedBrowser, type Visitor } from './browser.ts'
import { freshState } from './page-answers.ts'
import type { PageArea } from './page-area.ts'
import { type PageServer, startPageServer } from './page-server.ts'

/** What a suite over the page's chosen answers works with. */
export interface PageSuite {
  server(): PageServer
  /** Opens a fresh browser profile, in that browser if one is named; it is closed after the test. */
  visit(options?: BrowserContextOptions, executable?: string): Promise<Visitor>
}

/** A window that shows the sample request whole: what was not on the screen cannot be approved when its impact is high. */
const WHOLE = { width: 1280, height: 1600 }

/** One browser and one server for the suite; fresh answers and fresh profiles for each test. */
export function usePageSuite(...areas: PageArea[]): PageSuite {
  let browser: Browser | undefined
  let server: PageServer | undefined
  let visitors: Visitor[] = []
  const started = (): { browser: Browser; server: PageServer } => {
    if (browser === undefined || server === undefined) throw new Error('the suite has not started')
    return { browser, server }
  }
  beforeAll(async () => {
    browser = await sharedBrowser()
    server = await startPageServer(areas)
  })
  afterAll(async () => {
    await server?.close()
  })
  beforeEach(() => {
    Object.assign(started().server.state, freshState())
    for (const area of areas) area.reset()
    started().server.calls.length = 0
  })
  afterEach(async () => {
    await Promise.all(visitors.map(({ context }) => context.close()))
    visitors = []
  })
  return {
    server: () => started().server,
    visit: async (options, executable) => {
      const wanted = executable === undefined ? started().browser : await sharedBrowser(executable)
      const visitor = await newVisitor(wanted, started().server.url, { viewport: WHOLE, ...options })
      visitors.push(visitor)
      return visitor
    },
  }
}
