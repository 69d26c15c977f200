import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { type KeysArea, keysArea, sampleKey } from '../support/page-keys-answers.ts'
import { lookAtScenes, type PageScene } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LONG = 'wordwithoutspace'.repeat(5)
const press = (name: string) => (page: Page) => page.getByRole('button', { name }).click()

const SCENES: Record<string, PageScene<KeysArea>> = {
  'no key yet': {
    prepare: (area) => {
      area.keys = []
    },
    ready: '.key-form',
  },
  'keys of every kind': {
    prepare: (area) => {
      area.keys.push(
        sampleKey({ id: 'key_3', name: 'github', source_control: true, last_used_at: null }),
        sampleKey({ id: 'key_4', name: LONG, sandbox: true, scopes: ['approval:read'] }),
        sampleKey({
          id: 'key_5',
          name: 'p\u0430ypal\u202e',
          policy: { approvers: ['usr_ana'], quorum: 1, passkey_only: true, high_impact: true },
        }),
      )
    },
    ready: '.entries',
    act: (page) => page.getByText('Revoked keys').click(),
  },
  'a refused form': {
    ready: '.key-form',
    act: async (page) => {
      for (const label of ['Make requests', 'Read requests', 'Verify']) await page.getByLabel(label).uncheck()
      await press('Create an API key')(page)
      await page.getByText('Give the key a name.').waitFor()
      await page.getByLabel('Name of the key').fill('x')
      await press('Create an API key')(page)
      await page.getByText('Choose at least one.').waitFor()
    },
  },
  'a new key with its signing secret': {
    ready: '.key-form',
    act: async (page) => {
      await page.getByLabel('Name of the key').fill('deploy-bot')
      await press('Create an API key')(page)
      await press('Show the signing secret')(page)
      await page.getByRole('button', { name: 'Copy the signing secret' }).waitFor()
    },
  },
  'the signing secret of a key': {
    ready: '.entries',
    act: async (page) => {
      await press('Signing secret of')(page)
      await page.getByRole('button', { name: 'Hide it' }).waitFor()
    },
  },
  'the form for a key with its own policy': {
    prepare: (area) => {
      area.policy.passkey_only = true
      area.keys = [
        sampleKey({
          policy: {
            approvers: ['usr_ana', 'usr_gone'],
            quorum: 2,
            passkey_only: undefined,
            high_impact: true,
          },
        }),
      ]
    },
    ready: '.entries',
    act: async (page) => {
      await press('Edit the API key')(page)
      await page.getByLabel('Approvals needed').fill('4')
      await press('Save')(page)
      await page.getByText('Only one person approves: enter 1.').waitFor()
    },
  },
  'the way of a rotation': {
    ready: '.entries',
    act: async (page) => {
      await press('Rotate the API key')(page)
      await page.getByRole('button', { name: 'Make the new key' }).waitFor()
    },
  },
  'the new key of a rotation': {
    ready: '.entries',
    act: async (page) => {
      await press('Rotate the API key')(page)
      await press('Make the new key')(page)
      await page.getByRole('button', { name: 'I saved the new key' }).waitFor()
    },
  },
  'switching over': {
    prepare: (area) => {
      area.keys.push(sampleKey({ id: 'key_9', key_prefix: 'sa_live_n3wK3y', last_used_at: null }))
    },
    path: '/keys?old=key_1&new=key_9',
    ready: '.switch-over',
  },
  'the question before revoking': {
    ready: '.entries',
    act: async (page) => {
      await press('Revoke the API key')(page)
      await page.getByRole('dialog').waitFor()
    },
  },
}

describeInBrowser('the page of API keys, for everybody', () => {
  const area = keysArea()
  const suite = usePageSuite(area)

  lookAtScenes(suite, { area, name: 'keys', path: '/keys' }, SCENES)

  it('offers what can be done with a key in one line, on a phone too', async () => {
    const { page } = await suite.visit({ viewport: { width: 360, height: 740 } })
    await page.goto('/keys')
    const buttons = page.locator('.entry-buttons').first().locator('button')
    await buttons.first().waitFor()
    const tops = await Promise.all((await buttons.all()).map(async (one) => (await one.boundingBox())?.y))
    expect(tops).toHaveLength(4)
    expect(new Set(tops).size).toBe(1)
  })
})
