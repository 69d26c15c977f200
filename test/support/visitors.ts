import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { newVisitor, PLACE, sharedBrowser, type Visitor, watch } from './browser.ts'

/** The visitors of a file's tests. */
export interface Visitors {
  /** Opens a profile with nothing stored and one page. @param executable another browser than the other tests take */
  visit(options?: BrowserContextOptions, executable?: string): Promise<Visitor>
  /** All leave. @returns their incidents */
  leave(): Promise<string[]>
  /** Ends the profiles that wait for a visitor. */
  close(): Promise<void>
}

interface Profile {
  /** Of one kind are those opened with the same options. */
  kind: string
  place: typeof PLACE
  spoilt(): boolean
}

/** As large as Playwright opens a window. */
const WINDOW = { width: 1280, height: 720 }

/**
 * Visitors of `origin`. Those of the next test get the profiles of the last, emptied, each with a new page: to draw a page
 * takes a process that has drawn it before a quarter of the CPU. A profile that was changed for good ends with its test.
 */
export function visitorsAt(origin: () => string): Visitors {
  const present: (Profile & { visitor: Visitor })[] = []
  const waiting: (Profile & { page: Page })[] = []
  return {
    visit: async ({ viewport = WINDOW, ...options } = {}, executable) => {
      const kind = JSON.stringify([executable, options])
      const at = waiting.findIndex((profile) => profile.kind === kind)
      const [profile] = at === -1 ? [] : waiting.splice(at, 1)
      if (profile === undefined) {
        const visitor = await newVisitor(await sharedBrowser(executable), origin(), { viewport, ...options })
        const place = { ...PLACE, ...options }
        present.push({ kind, place, visitor, spoilt: watchForLasting(visitor.context) })
        return visitor
      }
      if (viewport !== null) await profile.page.setViewportSize(viewport)
      const visitor = await watch(profile.page, origin())
      present.push({ ...profile, visitor })
      return visitor
    },
    leave: async () => {
      const left = present.splice(0)
      await Promise.all(
        left.map(async ({ visitor: { context }, ...profile }) => {
          if (profile.spoilt()) await context.close()
          else waiting.push({ ...profile, page: await emptied(context, origin(), profile.place) })
        }),
      )
      return left.flatMap(({ visitor }) => visitor.incidents)
    },
    close: async () => {
      await Promise.all(waiting.splice(0).map(({ page }) => page.context().close()))
    },
  }
}

/** Deletes what a profile stored and closes its pages. @returns its new page, which keeps the process that drew those */
async function emptied(
  context: BrowserContext,
  origin: string,
  { locale, timezoneId }: typeof PLACE,
): Promise<Page> {
  const page = await context.newPage()
  await Promise.all(context.pages().map((other) => other !== page && other.close()))
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  // A process has one place, which the page that set it took away when it closed.
  await session.send('Emulation.setLocaleOverride', { locale })
  await session.send('Emulation.setTimezoneOverride', { timezoneId })
  await Promise.all([context.clearCookies(), context.clearPermissions(), context.setOffline(false)])
  return page
}

/** @returns whether a profile was given what cannot be taken back: scripts, a clock, a service worker */
function watchForLasting(context: BrowserContext): () => boolean {
  let lasting = false
  const noteCalls = (target: object, names: string[]): void => {
    for (const name of names) {
      const call: unknown = Reflect.get(target, name)
      if (typeof call !== 'function') throw new Error(`there is no ${name} to watch`)
      const value = (...given: unknown[]): unknown => {
        lasting = true
        return Reflect.apply(call, target, given)
      }
      Object.defineProperty(target, name, { value })
    }
  }
  noteCalls(context, ['addInitScript', 'exposeBinding', 'exposeFunction', 'route'])
  noteCalls(context.clock, ['install', 'setFixedTime', 'setSystemTime', 'pauseAt'])
  context.on('serviceworker', () => {
    lasting = true
  })
  return () => lasting
}
