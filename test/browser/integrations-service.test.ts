import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { ask, obtainKey, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('webhooks of a real service', () => {
  const suite = useServiceSuite({ env: { CALLBACK_ALLOW_PRIVATE: '1' }, work: true })
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver.close())

  it('one is created, tried, told of an event, and told again', async () => {
    const person = await suite.signedIn('kim@example.com')
    const { page } = person
    await page.goto('/integrations')
    await page.getByLabel('Address of the receiver').fill(receiver.url('/kim'))
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    receiver.trust('/kim', await page.locator('.secret-box code').first().innerText())
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The receiver accepted the test: answered with status 200').waitFor()
    const [test] = receiver.received
    expect(test).toMatchObject({ path: '/kim', taken: true })
    expect(JSON.parse(String(test?.body))).toMatchObject({ type: 'webhook.test' })
    await page.getByRole('button', { name: 'I saved the secret' }).click()

    await ask(suite.service(), await obtainKey(person, 'bot'), { action: 'Deploy' })
    await receiver.until('the request was told', () => told('approval.created').length > 0)
    await page.goto('/integrations')
    await page.getByRole('link', { name: /^Delivery log of/ }).click()
    const row = page.locator('.delivery', { hasText: 'approval.created' })
    await row.getByText('Delivered').waitFor()
    await row.getByRole('button', { name: /^Replay/ }).click()
    await receiver.until('it was told again', () => told('approval.created')[1]?.taken === true)
    const id = told('approval.created')[0]?.eventId
    expect(told('approval.created')).toMatchObject([
      { eventId: id, attempt: 1, taken: true },
      { eventId: id, attempt: 2, taken: true },
    ])
    await row.getByText('2 attempts').waitFor()

    await page
      .getByRole('link', { name: /its request/ })
      .first()
      .click()
    await page.getByText('Timeline and earlier requests').click()
    await page.getByRole('heading', { name: 'Notifications' }).waitFor()
  })

  it('one whose receiver is gone for good is switched off, says why, and is switched on again', async () => {
    const person = await suite.signedIn('lee@example.com')
    const { page } = person
    receiver.behave(({ path }) => ({ kind: 'answer', status: path === '/lee' ? 410 : 200 }))
    await page.goto('/integrations')
    await page.getByLabel('Address of the receiver').fill(receiver.url('/lee'))
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByRole('button', { name: 'I saved the secret' }).click()
    await obtainKey(person, 'bot')
    await receiver.until('the key was told', () => receiver.received.some(({ path }) => path === '/lee'))
    await expect
      .poll(async () => {
        await page.goto('/integrations')
        return page.locator('.webhook-about').innerText()
      })
      .toContain('its receiver answered with status 410 (gone)')
    await page.getByRole('button', { name: /^Switch on/ }).click()
    await page.getByText('The webhook is on again.').waitFor()
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is no webhook yet.').waitFor()
  })

  it('says what is wrong with an address at its field, and of chat that it is not set up', async () => {
    const { page } = await suite.signedIn('max@example.com')
    await page.goto('/integrations')
    await page.getByLabel('Address of the receiver').fill('ftp://example.com')
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.locator('.field-error').first().waitFor()
    expect(await page.evaluate('document.activeElement.name')).toBe('url')
    expect(await page.locator('main').innerText()).toContain('Slack is not set up on this service.')
  })

  function told(type: string): Received[] {
    return receiver.received.filter(({ body }) => Object(JSON.parse(String(body))).type === type)
  }
})
