import { expect, it } from 'vitest'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { describeInBrowser } from '../support/browser.ts'
import { askTogether } from '../support/live.ts'
import { ask, obtainKey, readRequest, useServiceSuite } from '../support/service-suite.ts'

/** The page looks every few seconds, too; without that, only what the service tells can bring news. */
const WITHOUT_POLLS = `
  const later = window.setTimeout.bind(window)
  window.setTimeout = (work, delay, ...rest) => delay >= 1000 ? 0 : later(work, delay, ...rest)`

describeInBrowser('several requests under one gesture, against the real service', () => {
  const suite = useServiceSuite()

  it('approves them with one passkey gesture; each has a receipt of its own', async () => {
    const service = suite.service()
    const person = await suite.signedIn('ana@example.com')
    const { page } = person
    const key = await obtainKey(person, 'bot')
    const ids = [
      await ask(service, key, { action: 'Send the newsletter' }),
      await ask(service, key, { action: 'Drop a table', requires_individual_decision: true }),
      await ask(service, key, { action: 'Restart', context: { host: 'mail' } }),
    ]
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Approve 3 selected' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Approve 3 requests' }).waitFor()
    expect(await dialog.locator('.action').first().innerText()).toBe('Drop a table')
    await dialog.getByRole('button', { name: 'Approve 3 requests' }).click()
    await dialog.getByRole('heading', { name: 'Approved: 3 requests' }).waitFor()
    await dialog.getByRole('button', { name: 'Back to the inbox' }).click()
    await page.getByText('You have no pending requests.').waitFor()

    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    const receipts = await Promise.all(ids.map((id) => readRequest(service, key, id)))
    for (const [at, read] of receipts.entries()) {
      expect(read).toMatchObject({ status: 'approved', decision: { method: 'passkey' } })
      expect(verifyReceiptJson(read, keys)).toMatchObject({ valid: true, payload: { rid: ids[at] } })
    }
    expect(new Set(receipts.map((read) => Object(read.decision).id)).size).toBe(3)
  })

  it('a card of several requests leads to the decision of these alone, and to none that is over', async () => {
    const service = suite.service()
    const person = await suite.signedIn('dee@example.com')
    const { page } = person
    const key = await obtainKey(person, 'bot')
    const other = await ask(service, key, { action: 'Alone' })
    const asked = [{ action: 'Pay 1' }, { action: 'Pay 2' }, { action: 'Pay 3' }]
    const { ids, batch } = await askTogether({ service, key }, asked)
    await page.goto(`/?batch=${batch}`)
    await page.getByText('3 selected').waitFor()
    expect(await page.locator('.inbox-list input:checked').count()).toBe(3)
    expect(new URL(page.url()).search).toBe('')

    await page.goto(`/?batch=${batch}&d=approve`)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Approve 3 requests' }).click()
    await dialog.getByRole('heading', { name: 'Approved: 3 requests' }).waitFor()
    await dialog.getByRole('button', { name: 'Back to the inbox' }).click()
    await page.getByRole('link', { name: /Alone/ }).first().waitFor()
    const receipts = await Promise.all(ids.map((id) => readRequest(service, key, id)))
    expect(new Set(receipts.map((read) => Object(read.decision).id)).size).toBe(3)
    expect(await readRequest(service, key, other)).toMatchObject({ status: 'pending' })

    await page.goto(`/?batch=${batch}&d=reject`)
    await page.getByText('none of these requests is pending for you').waitFor()
    expect(await dialog.count()).toBe(0)
  })

  it('records nothing when one is withdrawn while the person reads, and goes on with the rest', async () => {
    const service = suite.service()
    const person = await suite.signedIn('bo@example.com')
    const { page } = person
    const key = await obtainKey(person, 'bot')
    const first = await ask(service, key, { action: 'First' })
    const second = await ask(service, key, { action: 'Second' })
    await page.goto('/')
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: 'Reject 2 selected' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Reject 2 requests' }).waitFor()
    const cancelled = await fetch(`${service.url}/api/v1/approvals/${second}/cancel`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{}',
    })
    expect(cancelled.status).toBe(200)
    await dialog.getByRole('button', { name: 'Reject 2 requests' }).click()
    await dialog.getByText('1 request changed since you looked').waitFor()
    expect(await readRequest(service, key, first)).toMatchObject({ status: 'pending' })
    await dialog.getByRole('button', { name: 'Reject 1 request' }).click()
    await dialog.getByRole('heading', { name: 'Rejected: 1 request' }).waitFor()
    expect(await readRequest(service, key, first)).toMatchObject({ status: 'rejected' })
  })

  it('shows a new request at once, as the service tells', async () => {
    const service = suite.service()
    const person = await suite.signedIn('cy@example.com')
    const { page } = person
    const key = await obtainKey(person, 'bot')
    await page.addInitScript(WITHOUT_POLLS)
    const opened = page.waitForResponse('**/me/pending/events')
    await page.goto('/')
    await opened
    await page.getByText('You have no pending requests.').waitFor()
    await ask(service, key, { action: 'Look at this' })
    await page.getByRole('link', { name: 'Look at this' }).waitFor()
  })
})
