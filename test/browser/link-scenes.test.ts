import type { Page } from 'playwright-core'
import { describeInBrowser } from '../support/browser.ts'
import type { PageState } from '../support/page-answers.ts'
import { LINK_TOKEN, SAMPLE_IDENTITY, sampleLink } from '../support/page-chat-answers.ts'
import { lookAtScenes, type PageScene } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LINK = `/link#${LINK_TOKEN}`
const HOSTILE = `<img src=x onerror=alert(1)>\u202e Press Confirm p\u0430y ${'x'.repeat(200)}`

const signedOut = (_: undefined, state: PageState): void => {
  state.signedIn = false
}
const channel = (_: undefined, state: PageState): void => {
  state.chat.link = sampleLink({ kind: 'channel', channel: 'deploys' })
}
const browser = (_: undefined, state: PageState): void => {
  state.chat.link = sampleLink({ kind: 'browser' })
}
const agree = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: /^Confirm and/ }).click()
  await page.getByText('Use a code instead').click()
  await page.getByLabel('Code from your authenticator app').fill('123456')
  await page.getByRole('button', { name: 'Confirm with the code' }).click()
  await page.getByRole('heading', { name: /is linked|will be notified/ }).waitFor()
}

const SCENES: Record<string, PageScene<undefined>> = {
  'link: the question': { ready: /^Link Ana P\. in/ },
  'link: names that lie': {
    prepare: (_, { chat }) => {
      chat.link = sampleLink({ person: HOSTILE, workspace: HOSTILE })
    },
    ready: /^Link /,
  },
  'link: Teams': {
    prepare: (_, { chat }) => {
      chat.link = sampleLink({ platform: 'teams' })
    },
    ready: /Microsoft Teams organisation/,
  },
  'link: sign in first': { prepare: signedOut, ready: /^Sign in to link/ },
  'link: confirm with a fresh proof': {
    ready: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'Confirm and link' }).click()
      await page.getByText('Use a code instead').click()
    },
  },
  'link: refused': {
    prepare: (_, { chat }) => {
      chat.refuse = 'identity_taken'
    },
    ready: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'Confirm and link' }).click()
      await page.getByText('linked to another person').waitFor()
    },
  },
  'link: done': { ready: /^Link /, act: agree },
  'link: declined': {
    ready: /^Link /,
    act: async (page) => {
      await page.getByRole('button', { name: 'I did not ask for this' }).click()
      await page.getByRole('heading', { name: 'Nothing was changed' }).waitFor()
    },
  },
  'channel: the question': {
    prepare: channel,
    ready: /^Notify the channel #deploys of/,
  },
  'channel: sign in first': {
    prepare: (area, state) => {
      signedOut(area, state)
      channel(area, state)
    },
    ready: /^Sign in to notify a channel/,
  },
  'channel: done': { prepare: channel, ready: /^Notify /, act: agree },
  'channel: of somebody else': {
    prepare: (area, state) => {
      channel(area, state)
      state.chat.refuse = 'chat_link_not_yours'
    },
    ready: /^Notify /,
    act: async (page) => {
      await page.getByRole('button', { name: /^Confirm and/ }).click()
      await page.getByRole('heading', { name: /asked for/ }).waitFor()
    },
  },
  'browser: the question': { prepare: browser, ready: /^Trust this browser/ },
  'browser: done': {
    prepare: (area, state) => {
      signedOut(area, state)
      browser(area, state)
    },
    ready: /^Trust this browser/,
    act: async (page) => {
      await page.getByRole('button', { name: 'Trust this browser' }).click()
      await page.getByRole('heading', { name: 'This browser is trusted now' }).waitFor()
    },
  },
  'browser: done while signed in': {
    prepare: browser,
    ready: /^Trust this browser/,
    act: async (page) => {
      await page.getByRole('button', { name: 'Trust this browser' }).click()
      await page.getByRole('heading', { name: 'This browser is trusted now' }).waitFor()
    },
  },
  'a dead link': {
    prepare: (_, { chat }) => {
      chat.link = undefined
    },
    ready: /^This link no longer works/,
  },
  'half a link': { path: '/link', ready: /^Open the complete link again/ },
  'account without chat': { path: '/account', ready: /^Chat$/ },
  'account with chat': {
    prepare: (_, { chat }) => {
      chat.identities = [
        SAMPLE_IDENTITY,
        { ...SAMPLE_IDENTITY, key: 'teams:a:b', platform: 'teams', person: undefined },
      ]
    },
    path: '/account',
    ready: /^Chat$/,
  },
  'account with chat names that lie': {
    prepare: (_, { chat }) => {
      chat.identities = [{ ...SAMPLE_IDENTITY, person: HOSTILE, workspace: HOSTILE }]
    },
    path: '/account',
    ready: /^Chat$/,
  },
}

describeInBrowser('links from chat for everybody', () => {
  lookAtScenes(usePageSuite(), { area: undefined, name: 'link', path: LINK }, SCENES)
})
