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
  /** There once the page is: an element, or a heading that reads so. */
  ready: string | RegExp
  /** Pixels of the window, where a dialog must show all it holds in a picture. */
  height?: number
  act?(page: Page): Promise<unknown>
}

/** Where to put pictures of every scene. */
const SHOTS = process.env.SCREENSHOTS

/** Checked: between them every width and every colour. */
export const LOOKS = [
  { width: 360, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
] as const

/** For the eye, too: what stands well in one of them may not in the other. */
const PICTURED = [
  ...LOOKS,
  { width: 360, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const

/** What a set of scenes is about: its answers, its name in the files of pictures, and the page that it shows. */
interface About<Area> {
  area: Area
  name: string
  path: string
}

/** What has less than the 44 px that a thumb needs, and what reaches into the name of what it copies. */
const TOO_TIGHT = `[...document.querySelectorAll('.button, summary, .way-back a, .signed-in a, .audit-where a')]
  .filter((one) => {
    const { left, top, width, height } = one.getBoundingClientRect()
    const name = one.closest('div:has(> dt)')?.querySelector('dt').getBoundingClientRect()
    const inName = name !== undefined && one.matches('.copyable > *') && name.bottom > top + 0.5 && name.right > left
    return one.checkVisibility({ visibilityProperty: true }) && (Math.round(Math.min(width, height)) < 44 || inName)
  })
  .map(({ textContent, offsetWidth, offsetHeight }) => [textContent, offsetWidth, offsetHeight].join(' '))`

/** One test for each scene: on a dark phone and a light desk axe finds nothing, nothing overflows, nothing odd happens. */
export function lookAtScenes<Area>(
  suite: PageSuite,
  about: About<Area>,
  scenes: Record<string, PageScene<Area>>,
): void {
  for (const [name, { path = about.path, prepare, ready, height = 800, act }] of Object.entries(scenes)) {
    it(`${name}: axe finds nothing and nothing overflows, on a dark phone and a light desk`, async () => {
      prepare?.(about.area, suite.server().state)
      const { page, incidents } = await suite.visit()
      await page.goto(path)
      const there =
        typeof ready === 'string' ? page.locator(ready) : page.getByRole('heading', { name: ready })
      await there.first().waitFor()
      await act?.(page)
      if (SHOTS !== undefined) await takePictures(page, `${SHOTS}/${about.name}-${fileName(name)}`, height)
      const devtools = await page.context().newCDPSession(page)
      for (const { width, colorScheme } of LOOKS) {
        const touch = width < 500
        await devtools.send('Emulation.setTouchEmulationEnabled', { enabled: touch })
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme })
        if (touch) expect(await page.evaluate(TOO_TIGHT), 'too small for a thumb').toEqual([])
        expect(await axeViolations(page), `${width} px, ${colorScheme}`).toEqual([])
        expect(await overflow(page), `${width} px, ${colorScheme}`).toBeLessThanOrEqual(0)
        expect(incidents).toEqual([])
      }
    })
  }
}

function fileName(scene: string): string {
  return scene.replace(/\W+/g, '-')
}

async function takePictures(page: Page, stem: string, height: number): Promise<void> {
  for (const { width, colorScheme } of PICTURED) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    // Else the picture may hold parts that are not painted anew yet.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await page.screenshot({ path: `${stem}-${width}-${colorScheme}.png`, fullPage: true })
  }
}
