import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import type { PageState } from '../support/page-answers.ts'
import { LINK_TOKEN, SAMPLE_IDENTITY, sampleLink } from '../support/page-chat-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LINK = `/link#${LINK_TOKEN}`
const LOOKS = [360, 1440].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)
const HOSTILE = `<img src=x onerror=alert(1)>\u202e Press Confirm p\u0430y ${'x'.repeat(200)}`

interface Scene {
  prepare?(state: PageState): void
  path?: string
  heading: RegExp
  act?(page: Page): Promise<void>
}

const signedOut = (state: PageState): void => {
  state.signedIn = false
}
const channel = (state: PageState): void => {
  state.chat.link = sampleLink({ kind: 'channel', channel: 'deploys' })
}
const browser = (state: PageState): void => {
  state.chat.link = sampleLink({ kind: 'browser' })
}
const agree = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /^Confirm and/ }).click()
  await page.getByText('Use a code instead').click()
  await page.getByLabel('Code from your authenticator app').fill('123456')
  await page.getByRole('button', { name: 'Confirm with the code' }).click()
  await page.getByRole('heading', { name: /is linked|will be notified|asked for|limit/ }).waitFor()
}

const SCENES: Record<string, Scene> = {
  'link: the question': { heading: /^Link Ana P\. in/ },
  'link: names that lie': {
    prepare: ({ chat }) => {
      chat.link = sampleLink({ person: HOSTILE, workspace: HOSTILE })
    },
    heading: /^Link /,
  },
  'link: Teams': {
    prepare: ({ chat }) => {
      chat.link = sampleLink({ platform: 'teams' })
    },
    heading: /Microsoft Teams organisation/,
  },
  'link: sign in first': { prepare: signedOut, heading: /^Sign in to link/ },
  'link: confirm with a fresh proof': {
    heading: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'Confirm and link' }).click()
      await page.getByText('Use a code instead').click()
    },
  },
  'link: refused': {
    prepare: ({ chat }) => {
      chat.refuse = 'identity_taken'
    },
    heading: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'Confirm and link' }).click()
      await page.getByText('Use a code instead').click()
      await page.getByLabel('Code from your authenticator app').fill('123456')
      await page.getByRole('button', { name: 'Confirm with the code' }).click()
      await page.getByText('linked to another person').waitFor()
    },
  },
  'link: done': { heading: /^Link /, act: agree },
  'link: declined': {
    heading: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'I did not ask for this' }).click()
      await page.getByRole('heading', { name: 'Nothing was changed' }).waitFor()
    },
  },
  'channel: the question': { prepare: channel, heading: /^Notify the channel #deploys of/ },
  'channel: sign in first': {
    prepare: (state) => {
      signedOut(state)
      channel(state)
    },
    heading: /^Sign in to notify a channel/,
  },
  'channel: done': { prepare: channel, heading: /^Notify /, act: agree },
  'channel: of somebody else': {
    prepare: (state) => {
      channel(state)
      state.chat.refuse = 'chat_link_not_yours'
    },
    heading: /^Notify /,
    act: agree,
  },
  'browser: the question': { prepare: browser, heading: /^Make this browser known/ },
  'browser: done': {
    prepare: (state) => {
      signedOut(state)
      browser(state)
    },
    heading: /^Make this browser known/,
    act: async (page) => {
      await page.getByRole('button', { name: 'Make this browser known' }).click()
      await page.getByRole('heading', { name: 'This browser is known now' }).waitFor()
    },
  },
  'browser: done while signed in': {
    prepare: browser,
    heading: /^Make this browser known/,
    act: async (page) => {
      await page.getByRole('button', { name: 'Make this browser known' }).click()
      await page.getByRole('heading', { name: 'This browser is known now' }).waitFor()
    },
  },
  'a dead link': {
    prepare: ({ chat }) => {
      chat.link = undefined
    },
    heading: /^This link does not work any more/,
  },
  'half a link': { path: '/link', heading: /^Open the complete link again/ },
  'account without chat': { path: '/account', heading: /^Chat$/ },
  'account with chat': {
    prepare: ({ chat }) => {
      chat.identities = [
        SAMPLE_IDENTITY,
        { ...SAMPLE_IDENTITY, key: 'teams:a:b', platform: 'teams', person: undefined },
      ]
    },
    path: '/account',
    heading: /^Chat$/,
  },
  'account with chat names that lie': {
    prepare: ({ chat }) => {
      chat.identities = [{ ...SAMPLE_IDENTITY, person: HOSTILE, workspace: HOSTILE }]
    },
    path: '/account',
    heading: /^Chat$/,
  },
}

/** A folder for pictures of every scene, for whoever wants to look at them. */
const SHOTS = process.env.SCREENSHOTS

describeInBrowser('links from chat for everybody', () => {
  const suite = usePageSuite()

  for (const [name, { prepare, path = LINK, heading, act }] of Object.entries(SCENES)) {
    it(`${name}: axe finds nothing, nothing overflows and no report, on phone and desk, light and dark`, async () => {
      prepare?.(suite.server().state)
      const { page, incidents } = await suite.visit()
      await page.goto(path)
      await page.getByRole('heading', { name: heading }).first().waitFor()
      await act?.(page)
      for (const { width, colorScheme } of LOOKS) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        if (SHOTS !== undefined)
          await page.screenshot({
            path: `${SHOTS}/${name.replace(/\W+/g, '-')}-${width}-${colorScheme}.png`,
            fullPage: true,
          })
        expect(await axeViolations(page), `${width} px, ${colorScheme}`).toEqual([])
        expect(await overflow(page), `${width} px, ${colorScheme}`).toBeLessThanOrEqual(0)
      }
      expect(incidents).toEqual([])
    })
  }
})
