import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Visitor } from './browser.ts'
import { freshState } from './page-answers.ts'
import type { PageArea } from './page-area.ts'
import { type PageServer, startPageServer } from './page-server.ts'
import { visitorsAt } from './visitors.ts'

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
  let server: PageServer | undefined
  const started = (): PageServer => {
    if (server === undefined) throw new Error('the suite has not started')
    return server
  }
  const visitors = visitorsAt(() => started().url)
  beforeAll(async () => {
    server = await startPageServer(areas)
  })
  afterAll(async () => {
    await visitors.close()
    await server?.close()
  })
  beforeEach(() => {
    Object.assign(started().state, freshState())
    for (const area of areas) area.reset()
    started().calls.length = 0
  })
  afterEach(async () => {
    await visitors.leave()
  })
  return {
    server: started,
    visit: (options, executable) => visitors.visit({ viewport: WHOLE, ...options }, executable),
  }
}
