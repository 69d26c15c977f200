import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { createKey, type Person, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('API keys of a real service', () => {
  const suite = useServiceSuite()
  const use = (key: string, body = '{"action":"Deploy"}'): Promise<Response> =>
    fetch(`${suite.service().url}/api/v1/approvals/request`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body,
    })
  const reviewed = async (response: Response): Promise<Record<string, unknown>> => {
    expect(response.status).toBe(201)
    return Object(await response.json())
  }
  const revoke = async ({ page }: Person, name: string): Promise<void> => {
    await page.getByRole('button', { name }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The API key is revoked.').waitFor()
  }

  it('a sandbox key works until it is revoked', async () => {
    const person = await suite.signedIn('hal@example.com')
    const { page } = person
    await page.goto('/keys')
    await page.getByLabel('Sandbox key').check()
    await page.getByLabel('Name of the key').fill('try-out')
    await page.getByRole('button', { name: 'Create your first API key' }).click()
    const rawKey = await page.locator('.secret-box code').first().innerText()
    expect(rawKey).toMatch(/^sa_test_/)
    await page.getByRole('button', { name: 'I saved the key' }).click()
    expect(await page.locator('.entry').innerText()).toContain('Sandbox')
    const waits = '{"action":"Deploy","sandbox_auto_decide_seconds":300}'
    for (let count = 0; count < 3; count += 1) expect((await use(rawKey, waits)).status).toBe(201)
    await revoke(person, 'Revoke the API key try-out')
    // What it asked is shown, to be withdrawn at once.
    await page.getByRole('heading', { name: '3 requests found' }).waitFor()
    await page.getByRole('button', { name: 'Withdraw these 3' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('3 requests are withdrawn.').waitFor()
    await page.getByLabel('Status').selectOption('Expired or withdrawn')
    await page.getByRole('heading', { name: '3 requests found' }).waitFor()
    expect(await page.getByText('Withdrawn', { exact: true }).count()).toBe(3)
    expect((await use(rawKey)).status).toBe(401)
  })

  it('shows the secret that the key itself is told', async () => {
    const person = await suite.signedIn('ivy@example.com')
    const rawKey = await createKey(person, 'bot')
    await person.page.getByRole('button', { name: 'Show the signing secret' }).click()
    const shown = await person.page.locator('.panel-form .secret-box code').innerText()
    const answer = await fetch(`${suite.service().url}/api/v1/account/webhook-secret`, {
      headers: { Authorization: `Bearer ${rawKey}` },
    })
    expect(await answer.json()).toEqual({ webhook_signing_secret: shown })
  })

  it('T34: leads a person who signed in a while ago through a proof, once for a while', async () => {
    const { page } = await suite.signedIn('kim@example.com')
    const sessions = suite.service().composition.connection.collection('sessions')
    await sessions.updateMany({}, { $set: { proven_at: new Date(Date.now() - 16 * 60_000) } })
    await page.goto('/keys')
    await page.getByLabel('Name of the key').fill('bot')
    await page.getByRole('button', { name: 'Create your first API key' }).click()
    await page.getByText('Confirm the new API key bot.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await page.getByLabel('Name of the key').inputValue()).toBe('bot')
    await page.getByRole('button', { name: 'Create your first API key' }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    expect(await page.locator('.secret-box code').first().innerText()).toMatch(/^sa_live_/)
    await page.getByRole('button', { name: 'Show the signing secret' }).click()
    expect(await page.locator('.panel-form .secret-box code').innerText()).toMatch(/^[0-9a-f]{64}$/)
  })

  it('renames a key, makes its requests high impact after a proof, and rotates it with its policy', async () => {
    const person = await suite.signedIn('jan@example.com')
    const { page } = person
    const oldKey = await createKey(person, 'deploy')
    await page.getByRole('button', { name: 'I saved the key' }).click()
    await page.getByRole('button', { name: 'Edit the API key deploy' }).click()
    await page.getByLabel('Name', { exact: true }).fill('deploy-bot')
    await page.getByLabel('Every request is high impact').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.getByText('The API key is changed.').waitFor()
    expect(await page.locator('.entry').innerText()).toContain('Own policy: every request is high impact')
    expect(await reviewed(await use(oldKey))).toMatchObject({ status: 'pending' })

    await page.getByRole('button', { name: 'Rotate the API key deploy-bot' }).click()
    await page.getByRole('button', { name: 'Make the new key' }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    await page.getByText('It is shown only this once').waitFor()
    const newKey = await page.locator('.row-panel .secret-box code').first().innerText()
    expect(newKey).not.toBe(oldKey)
    await page.getByRole('button', { name: 'I saved the new key' }).click()
    await page.getByText('The new key has not been used yet').waitFor()
    expect(await page.getByText('Own policy: every request is high impact').count()).toBe(2)
    expect((await use(newKey)).status).toBe(201)
    await revoke(person, 'Revoke the old key')
    expect([(await use(oldKey)).status, (await use(newKey)).status]).toEqual([401, 201])
    await page.goto('/')
    await expect.poll(() => page.locator('.inbox-row .badge.high-impact').count()).toBe(3)
  })
})
