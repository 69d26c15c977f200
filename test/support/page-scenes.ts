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

/**
 * What has less than the 44 px that a thumb needs, with its label or its row; what reaches into the name of what it copies.
 * Links and folds that stand close share the room between them. A link in a line of text stands among its words, and what a
 * dialog covers is out of reach.
 */
const TOO_TIGHT = `[...document.querySelectorAll('a, button, summary, select, textarea, input')].flatMap((one) => {
  if (one.matches('.visually-hidden, .skip-link') || !one.checkVisibility({ visibilityProperty: true })) return []
  if (one.matches('a, .person') && getComputedStyle(one).display.startsWith('inline')) return []
  one.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
  const { left, top, width, height } = one.getBoundingClientRect()
  const own = (y) => {
    const hit = document.elementFromPoint(left + width / 2, y)
    return one.contains(hit) || [...(one.labels ?? [])].some((label) => label.contains(hit))
  }
  const middle = top + height / 2
  if (!own(middle)) return []
  let [from, to] = [middle, middle]
  while (own(from - 1)) from -= 1
  while (own(to + 1)) to += 1
  const name = one.closest('div:has(> dt)')?.querySelector('dt').getBoundingClientRect()
  const inName = name !== undefined && one.matches('.copyable > *') && name.bottom > top + 0.5 && name.right > left
  const enough = Math.round(to - from) + 1 >= (one.matches('a, summary') ? 32 : 44)
  return enough && !inName ? [] : [[one.localName, one.textContent, one.name, to - from].join(' ')]
})`

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
