import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, overflow } from './browser.ts'
import type { PageState } from './page-answers.ts'
import type { PageSuite } from './page-suite.ts'

/** A state of a page to be looked at. */
export interface PageScene<Area> {
  /** Of the page, when it is not the one all others show. */
  path?: string
  /** Chooses the answers. */
  prepare?(area: Area, state: PageState): void
  /** There once the page is. */
  ready: string
  act?(page: Page): Promise<unknown>
}

/** Where to put pictures of every scene, for somebody to look at. */
const SHOTS = process.env.SCREENSHOTS

const LOOKS = [
  { width: 360, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
] as const

/** What a set of scenes is about: its answers, its name in the files of pictures, and the page that it shows. */
interface About<Area> {
  area: Area
  name: string
  path: string
}

/** One test for each scene: on a dark phone and a light desk axe finds nothing, nothing overflows, nothing odd happens. */
export function lookAtScenes<Area>(
  suite: PageSuite,
  about: About<Area>,
  scenes: Record<string, PageScene<Area>>,
): void {
  for (const [name, { path = about.path, prepare, ready, act }] of Object.entries(scenes)) {
    it(`${name}: axe finds nothing and nothing overflows, on a dark phone and a light desk`, async () => {
      prepare?.(about.area, suite.server().state)
      const { page, incidents } = await suite.visit()
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      await act?.(page)
      for (const { width, colorScheme } of LOOKS) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        if (SHOTS !== undefined) {
          const file = `${SHOTS}/${about.name}-${name.replace(/\W+/g, '-')}-${width}-${colorScheme}.png`
          await page.screenshot({ path: file, fullPage: true })
        }
        expect(await axeViolations(page), `${width} px, ${colorScheme}`).toEqual([])
        expect(await overflow(page), `${width} px, ${colorScheme}`).toBeLessThanOrEqual(0)
        expect(incidents).toEqual([])
      }
    })
  }
}
