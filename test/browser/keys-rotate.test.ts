import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { keysArea, sampleKey } from '../support/page-keys-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

describeInBrowser('rotating an API key', () => {
  const area = keysArea()
  const suite = usePageSuite(area)
  let page: Page

  beforeEach(async () => {
    page = (await suite.visit()).page
  })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const begin = async (): Promise<void> => {
    await page.goto('/keys')
    await press('Rotate the API key ops-agent-prod')
    await press('Make the new key')
  }
  const confirm = async (): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await press('Confirm with the code')
  }
  const live = () => area.keys.filter((key) => key.revoked_at === null).map(({ id }) => id)

  it('makes a key with the same settings, shows it once, and leads to the last step', async () => {
    area.keys = [sampleKey({ source_control: true, scopes: ['approval:create'] })]
    await begin()
    await page.getByText('It is shown only this once').waitFor()
    const settings = {
      name: 'ops-agent-prod',
      sandbox: false,
      scopes: ['approval:create'],
      source_control: true,
    }
    expect(area.sent).toEqual([settings])
    expect(await page.locator('.row-panel code').first().innerText()).toMatch(/^sa_live_n3wK3y/)
    expect(live()).toEqual(['key_1', 'key_2'])
    await press('Signing secret of the API key ops-agent-prod')
    await page.getByRole('button', { name: 'Hide it' }).waitFor()
    expect(await page.locator('.row-panel').first().innerText()).toContain('sa_live_n3wK3y')
    await press('Hide it')
    expect(await page.locator('.row-panel code').first().innerText()).toMatch(/^sa_live_n3wK3y/)
    await press('I saved the new key')
    await page.getByRole('heading', { name: 'Switch over to the new key' }).waitFor()
    expect(new URL(page.url()).search).toBe('?old=key_1&new=key_2')
    expect(await page.content()).not.toContain('n3wK3yn3wK3y')
    const text = await page.locator('.switch-over').innerText()
    expect(text).toContain('The new key has not been used yet')
  })

  it('hands a key with its own policy out only after that policy is set', async () => {
    area.keys = [
      sampleKey({
        policy: { approvers: ['usr_ben'], quorum: undefined, passkey_only: true, high_impact: undefined },
      }),
    ]
    await begin()
    await page.getByRole('dialog').waitFor()
    expect(await page.getByRole('dialog').locator('h2 + p').innerText()).toBe(
      'Confirm that the new key ops-agent-prod (sa_live_n3wK3y…) gets the rules of the one it replaces. Own policy: one approver, passkeys only.',
    )
    expect(await page.content()).not.toContain('n3wK3yn3wK3y')
    await confirm()
    await page.getByText('It is shown only this once').waitFor()
    const policy = { approvers: ['usr_ben'], passkey_only: true }
    expect(area.sent.at(-1)).toEqual({ policy, proof: { totp: '123456' } })
    expect(area.keys.at(-1)?.policy).toMatchObject(policy)
  })

  it('revokes the new key when the person does not confirm its policy', async () => {
    area.keys = [
      sampleKey({
        policy: {
          approvers: ['usr_ben'],
          quorum: undefined,
          passkey_only: undefined,
          high_impact: undefined,
        },
      }),
    ]
    await begin()
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(live).toEqual(['key_1'])
    expect(await page.content()).not.toContain('n3wK3yn3wK3y')
    expect(await page.getByRole('button', { name: 'Make the new key' }).isVisible()).toBe(true)
  })

  it('says why no new key was made', async () => {
    area.refuse = { code: 'key_limit' }
    await begin()
    await page.locator('.row-panel').getByText('The account has reached the limit').waitFor()
    expect(live()).toEqual(['key_1'])
  })

  it('follows both keys by itself and offers to revoke the old one when the new one is in use', async () => {
    await page.clock.install({ time: new Date('2026-11-21T12:00:00Z') })
    area.keys.push(sampleKey({ id: 'key_9', last_used_at: null }))
    await page.goto('/keys?old=key_1&new=key_9')
    const said = page.locator('.switch-over')
    await said.getByText('The new key has not been used yet').waitFor()
    const fresh = area.keys.at(-1) ?? expect.unreachable()
    fresh.last_used_at = '2026-11-20T11:00:00.000Z'
    await page.clock.runFor(5500)
    await said.getByText('The old key is still in use somewhere.').waitFor()
    fresh.last_used_at = '2026-11-21T11:59:00.000Z'
    await page.clock.runFor(5500)
    await said.getByText('You can revoke the old one.').waitFor()
    // Coming back by its address must be possible still.
    await page.getByLabel('Find a key').fill('ops')
    expect(await page.evaluate('location.search')).toBe('?old=key_1&new=key_9&q=ops')
    await page.getByLabel('Find a key').fill('')
    expect(await page.evaluate('location.search')).toBe('?old=key_1&new=key_9')
    await press('Revoke the old key')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The API key is revoked.').waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(live()).toEqual(['key_9'])
  })

  it('is not offered for a key that is gone, nor for one key twice', async () => {
    for (const query of ['old=key_1&new=key_2', 'old=key_1&new=key_1', 'old=key_1', 'old=x&new=y']) {
      await page.goto(`/keys?${query}`)
      await page.getByRole('heading', { name: 'Keys of this account' }).waitFor()
      expect(await page.locator('.switch-over').count()).toBe(0)
    }
  })
})
