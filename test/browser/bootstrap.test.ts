import { expect, it } from 'vitest'
import { begin, pollOnce } from '../support/bootstraps.ts'
import { axeViolations, describeInBrowser } from '../support/browser.ts'
import { ask, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('an agent gets a key from its owner, against the real service', () => {
  const suite = useServiceSuite()

  it('by the matching code and a passkey; the owner sees who collected it and revokes it', async () => {
    const { page } = await suite.signedIn('ana@example.com')
    const begun = await begin(suite.service(), 'ana@example.com')
    await page.goto('/')
    await page.getByRole('link', { name: 'Review', description: 'Release agent' }).click()
    await page.getByRole('heading', { name: 'Give this agent an API key?' }).waitFor()
    expect(await page.content()).not.toContain(begun.code)
    expect(await axeViolations(page)).toEqual([])
    await page.getByLabel('Matching code').fill(begun.code.toLowerCase())
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    const { body } = await pollOnce(suite.service(), begun.secret)
    expect(body).toEqual({ status: 'approved', api_key: expect.stringMatching(/^sa_live_/) })
    expect(await ask(suite.service(), body.api_key, { action: 'Deploy' })).toMatch(/^req_/)
    await page.getByRole('heading', { name: 'The key was collected' }).waitFor()
    expect(await page.locator('main').innerText()).toContain('127.0.0.1')
    await page.getByRole('link', { name: 'See or revoke the key' }).click()
    await page.getByRole('button', { name: 'Revoke the API key Release agent' }).click()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('The API key is revoked.').waitFor()
    await expect(ask(suite.service(), body.api_key, { action: 'Deploy' })).rejects.toThrow(/401/)
  })

  it('not after three wrong codes, and not from another person', async () => {
    const owner = await suite.signedIn('ben@example.com')
    const begun = await begin(suite.service(), 'ben@example.com')
    await owner.page.goto('/')
    await owner.page.getByRole('link', { name: 'Review' }).click()
    await owner.page.waitForURL('**/b/*')
    const path = new URL(owner.page.url()).pathname
    const other = await suite.signedIn('eve@example.com')
    await other.page.goto(path)
    await other.page.getByRole('heading', { name: 'Request not available' }).waitFor()
    const wrong = begun.code.startsWith('B') ? 'CCCC-CCCC' : 'BBBB-BBBB'
    for (const said of ['2 more tries', 'one more try', 'That was the third wrong code']) {
      await owner.page.getByLabel('Matching code').fill(wrong)
      await owner.page.getByRole('button', { name: 'Approve' }).click()
      await owner.page.getByText(said).waitFor()
    }
    await owner.page.getByRole('heading', { name: 'Rejected after three wrong codes' }).waitFor()
    expect((await pollOnce(suite.service(), begun.secret)).body).toEqual({ status: 'rejected' })
  })

  it('is rejected with a passkey and without the code', async () => {
    const { page } = await suite.signedIn('cleo@example.com')
    const begun = await begin(suite.service(), 'cleo@example.com')
    await page.goto('/')
    await page.getByRole('link', { name: 'Review' }).click()
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
    expect((await pollOnce(suite.service(), begun.secret)).body).toEqual({ status: 'rejected' })
  })
})
