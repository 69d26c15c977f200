import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyReceiptJson } from '../../src/signing/verify-node.ts'
import { axeViolations, describeInBrowser } from '../support/browser.ts'
import { ask, obtainKey, type Person, readRequest, useServiceSuite } from '../support/service-suite.ts'

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const confirm = (page: Page) => press(page, 'Confirm with a passkey')

/** The owner invites somebody on the members page. @returns path and token of the link that is shown */
async function invite({ page }: Person, email: string, role: 'Approver' | 'Auditor'): Promise<string> {
  await page.goto('/members')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Role', { exact: true }).selectOption(role)
  await press(page, 'Invite')
  await confirm(page)
  await page.getByText('this link works only on this machine').waitFor()
  const url = new URL(await page.locator('.secret-box code').innerText())
  await press(page, 'I have handed it over')
  return `${url.pathname}${url.hash}`
}

async function approve({ page }: Person, id: string): Promise<void> {
  await page.goto(`/a/${id}`)
  await press(page, 'Approve')
}

describeInBrowser('an account of several people, each in a browser of their own', () => {
  const suite = useServiceSuite()

  it('owner invites an approver and an auditor by links; two approvals decide; a delegate stands in; who leaves is named no more', async () => {
    const owner = await suite.signedIn('owner@example.com')
    const key = await obtainKey(owner, 'deploys')

    const approver = await suite.visit()
    await approver.page.goto(await invite(owner, 'ann@example.com', 'Approver'))
    await approver.page.getByText('You are asked to join').waitFor()
    await press(approver.page, 'Create a passkey')
    await approver.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    // Said once.
    await approver.page
      .getByText('you joined “owner”. Requests that name you appear in your inbox.')
      .waitFor()
    const steps = approver.page.getByRole('region', { name: 'Next steps' })
    await steps.getByText('0 of 2 are done.').waitFor()
    await approver.page.reload()
    await steps.getByText('0 of 2 are done.').waitFor()
    expect(await approver.page.getByText('you joined').count()).toBe(0)
    expect(await steps.getByRole('link').allInnerTexts()).toEqual(['Turn on notifications', 'Add a passkey'])

    const auditor = await suite.visit()
    await auditor.page.goto(await invite(owner, 'al@example.com', 'Auditor'))
    await press(auditor.page, 'Create a passkey')
    await auditor.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()

    await owner.page.goto('/settings')
    await owner.page.getByRole('checkbox', { name: /ann@example.com/ }).check()
    await owner.page.getByLabel('Approvals needed').fill('2')
    await press(owner.page, 'Save the policy')
    await confirm(owner.page)
    await owner.page.getByText('The policy is saved.').waitFor()

    const id = await ask(suite.service(), key, { action: 'Deploy release 4.2' })
    await approver.page.goto('/')
    await approver.page.getByRole('link', { name: 'Deploy release 4.2' }).waitFor()
    // Where a sign-in without a page to come back to leads: an owner sees at once what waits.
    await approver.page.goto('/signin')
    await approver.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    await owner.page.goto('/signin')
    await owner.page.waitForURL('**/overview')
    await owner.page.getByRole('link', { name: '1 request waits for you' }).click()
    await owner.page.getByRole('link', { name: 'Deploy release 4.2' }).waitFor()
    await approve(approver, id)
    await approver.page.getByText('Your vote is recorded').waitFor()
    expect(await readRequest(suite.service(), key, id)).toMatchObject({ status: 'pending' })
    await approve(owner, id)
    await owner.page.getByRole('heading', { name: 'Receipt' }).waitFor()
    const decided = await readRequest(suite.service(), key, id)
    const { votes } = Object(decided.decision)
    expect(votes).toHaveLength(2)
    const jwks = parseJwks(await (await fetch(`${suite.service().url}/.well-known/jwks.json`)).json())
    for (const decision of votes) expect(verifyReceiptJson({ decision }, jwks)).toMatchObject({ valid: true })

    await auditor.page.goto(`/requests/${id}`)
    await auditor.page.getByText('Deploy release 4.2').first().waitFor()
    expect(await auditor.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(await auditor.page.getByRole('link', { name: 'Members' }).count()).toBe(0)

    // An empty inbox leads to what was decided lately: who, when, and how it went.
    await approver.page.goto('/')
    const lately = approver.page.getByRole('region', { name: 'Decided lately' })
    await lately.getByRole('link', { name: 'Deploy release 4.2' }).waitFor()
    expect(await lately.getByRole('row').nth(1).innerText()).toMatch(
      /^Approved\s.+2 of 2 approvals · last by owner · Passkey\s· /s,
    )

    const delegate = await suite.visit()
    await delegate.page.goto(await invite(owner, 'dee@example.com', 'Approver'))
    await press(delegate.page, 'Create a passkey')
    await delegate.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    await approver.page.goto('/account')
    await approver.page.getByLabel('Who decides for you').selectOption({ label: 'dee (dee@example.com)' })
    await press(approver.page, 'Let them decide for me')
    await confirm(approver.page)
    await approver.page.getByText('Your delegate is set.').waitFor()
    const next = await ask(suite.service(), key, { action: 'Deploy release 4.3' })
    await delegate.page.goto('/')
    await delegate.page.getByRole('link', { name: 'Deploy release 4.3' }).waitFor()
    await approve(delegate, next)
    await delegate.page.getByText('Your vote is recorded').waitFor()
    await approve(owner, next)
    await owner.page.getByRole('heading', { name: 'Receipt' }).waitFor()
    const second = await readRequest(suite.service(), key, next)
    expect(Object(second.decision).votes).toMatchObject([{ delegate: expect.any(String) }, {}])

    const open = [
      await ask(suite.service(), key, { action: 'Deploy release 4.4' }),
      await ask(suite.service(), key, { action: 'Deploy release 4.5' }),
    ]
    await owner.page.goto('/members')
    await press(owner.page, 'Remove: ann')
    await confirm(owner.page)
    // What they could still decide is shown, to be withdrawn: all of it, or one after a look at it (T79).
    await owner.page.getByText('The member is removed. These requests are still pending').waitFor()
    await owner.page.getByRole('heading', { name: '2 requests found' }).waitFor()
    await owner.page.getByText('Under this policy no one can approve now').waitFor()
    const filter = owner.page.getByLabel('Approver', { exact: true })
    expect(await filter.locator('option:checked').innerText()).toMatch(/^No longer a member: usr_/)
    expect(await axeViolations(owner.page)).toEqual([])
    await owner.page.getByRole('link', { name: 'Deploy release 4.4' }).click()
    await owner.page.getByText('Timeline and earlier requests').click()
    await press(owner.page, 'Withdraw the request')
    await press(owner.page, 'Cancel')
    await press(owner.page, 'Withdraw the request')
    await owner.page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await owner.page.getByText('The request is withdrawn.').waitFor()
    await owner.page.goBack()
    await press(owner.page, 'Withdraw this request')
    await owner.page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
    await owner.page.getByText('The request is withdrawn.').waitFor()
    await owner.page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    for (const one of open)
      expect(await readRequest(suite.service(), key, one)).toMatchObject({
        status: 'expired',
        cancelled: true,
      })
    await owner.page.goto('/')
    await owner.page.getByText('Under this policy no one can approve now').waitFor()
    await owner.page.getByRole('link', { name: 'Open the policy' }).click()
    await owner.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
    await owner.page.getByText('Under this policy no one can approve now').waitFor()
    const refused = await fetch(`${suite.service().url}/api/v1/approvals/request`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      body: JSON.stringify({ action: 'Deploy release 4.6' }),
    })
    expect([refused.status, Object(await refused.json()).error]).toEqual([422, 'no_eligible_approver'])
  })

  it('an invitation of somebody who is here already is accepted with its link, signed in as that person', async () => {
    const owner = await suite.signedIn('second@example.com')
    const known = await suite.signedIn('known@example.com')
    await known.page.goto(await invite(owner, 'known@example.com', 'Approver'))
    await known.page.getByRole('heading', { name: 'You are invited' }).waitFor()
    await press(known.page, 'Accept')
    await known.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    await known.page.getByText('you joined “second”.').waitFor()
    await owner.page.goto('/members')
    await owner.page.getByText('2 people can be named as approvers.').waitFor()
    // Who joined is not yet named by the policy: the pages must not look as if they decided.
    const member = owner.page.getByRole('listitem').filter({ hasText: 'known@example.com' })
    await member.getByText('Not named in the policy').waitFor()
    const key = await obtainKey(owner, 'deploys')
    await approve(owner, await ask(suite.service(), key, { action: 'Deploy release 5.0' }))
    await owner.page.getByRole('heading', { name: 'Receipt' }).waitFor()
    await owner.page.goto('/overview')
    const steps = owner.page.getByRole('region', { name: 'Next steps' })
    await steps.getByText('An approver joined, but the policy does not name them').waitFor()
    await steps.getByRole('link', { name: 'Name them in the policy' }).click()
    await owner.page.getByRole('checkbox', { name: /known@example.com/ }).check()
    await press(owner.page, 'Save the policy')
    await confirm(owner.page)
    await owner.page.getByText('The policy is saved.').waitFor()
    await owner.page.goto('/overview')
    const second = steps.getByRole('listitem').filter({ hasText: 'A second person' })
    await expect.poll(() => second.innerText()).toMatch(/Done$/)
    await owner.page.goto('/members')
    await member.waitFor()
    expect(await member.getByText('Not named in the policy').count()).toBe(0)
  })
})
