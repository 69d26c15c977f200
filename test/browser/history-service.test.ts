import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import type { User } from '../../src/domain/user.ts'
import { checkTrail } from '../../src/flow/audit/check-trail.ts'
import { createStateSurvey } from '../../src/store/audit/state-survey.ts'
import { axeViolations, describeInBrowser } from '../support/browser.ts'
import { cli } from '../support/cli.ts'
import { setPolicy } from '../support/deciders.ts'
import { joinAccount } from '../support/joined.ts'
import { ask, obtainKey, type Person, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('history and audit log of several people at once, against the real service', () => {
  const suite = useServiceSuite({ work: true })
  const heading = ({ page }: Person, name: string | RegExp) =>
    page.getByRole('heading', { name, exact: true })

  async function userOf(email: string): Promise<User> {
    const user = await suite.service().composition.deps.users.findByEmail(email)
    if (user === undefined) throw new Error(`nobody is ${email}`)
    return user
  }

  /** Downloads what a press gives. @returns the file's path and text */
  async function saved(
    { page }: Person,
    press: () => Promise<void>,
  ): Promise<{ path: string; text: string }> {
    const [download] = await Promise.all([page.waitForEvent('download'), press()])
    const path = await download.path()
    return { path, text: await readFile(path, 'utf8') }
  }

  it('an owner, an approver and an auditor follow one request, each as far as their role goes', async () => {
    const service = suite.service()
    const [ana, ben, cleo] = [
      await suite.signedIn('ana@example.com'),
      await suite.signedIn('ben@example.com'),
      await suite.signedIn('cleo@example.com'),
    ]
    const [owner, approver, auditor] = [
      await userOf('ana@example.com'),
      await userOf('ben@example.com'),
      await userOf('cleo@example.com'),
    ]
    const key = await obtainKey(ana, 'deploy bot')
    const alone = await ask(service, key, { action: 'Only for Ana' })
    await setPolicy(service, owner.account_id, { approvers: [owner.id, approver.id], quorum: 2 })
    await joinAccount(service, owner.account_id, auditor.id, 'auditor')
    const both = await ask(service, key, {
      action: 'Deploy to <b>production</b>',
      context: { ticket: 'OPS-1' },
    })
    const company = `account=${owner.account_id}`

    await cleo.page.goto(`/requests?${company}`)
    await heading(cleo, '2 requests').waitFor()
    expect(await axeViolations(cleo.page)).toEqual([])
    await cleo.page
      .getByRole('row', { name: /Deploy to/ })
      .getByRole('link', { name: /Deploy to/ })
      .click()
    await heading(cleo, 'Waiting for a decision').waitFor()
    expect(await cleo.page.locator(`a[href="/a/${both}"]`).count()).toBe(0)

    await ben.page.goto(`/requests?${company}`)
    await heading(ben, '1 request').waitFor()
    expect(await ben.page.locator('.data-table').innerText()).toContain('Deploy to <b>production</b>')
    await ben.page.goto(`/requests/${alone}?${company}`)
    await heading(ben, 'Request not available').waitFor()
    await ben.page.goto(`/requests/${both}?${company}`)
    await ben.page.getByText('Add a comment').click()
    await ben.page.getByLabel('Comment (optional)').fill('Looks right.')
    await ben.page.getByRole('button', { name: 'Approve' }).click()
    await heading(ben, 'You approved. Waiting for others').waitFor()
    // Named in it, but no owner of it: also where the account that is looked at is Ben's own.
    await ben.page.goto(`/requests/${both}`)
    await heading(ben, 'You approved. Waiting for others').waitFor()
    expect(await ben.page.getByRole('button', { name: 'Withdraw the request' }).count()).toBe(0)
    // Cleo's page follows by itself.
    await cleo.page.getByText('1 of 2 needed approvals so far').waitFor()

    await ana.page.goto(`/requests?q=DEPLOY&status=pending&person=${approver.id}`)
    await heading(ana, '1 request found').waitFor()
    await ben.page.goto(`/requests?${company}&person=${owner.id}`)
    await ben.page.getByText('only owners and auditors see the requests of others').waitFor()
    expect(await ben.page.getByLabel('Id of the approver').inputValue()).toBe(owner.id)
    await ana.page.goto(`/a/${both}`)
    await ana.page.getByRole('button', { name: 'Approve' }).click()
    await heading(ana, 'Approved').waitFor()
    await heading(cleo, 'Approved').waitFor()
    expect(await cleo.page.locator('.votes').innerText()).toMatch(/Comment \(not signed\):\s+Looks right\./)

    await ana.page.goto(`/requests/${both}`)
    await heading(ana, 'Notifications').waitFor()
    expect(await axeViolations(ana.page)).toEqual([])
    const record = await saved(ana, () =>
      ana.page.getByRole('button', { name: 'Download the receipt' }).click(),
    )
    const receipt = await saved(cleo, () =>
      cleo.page.getByRole('button', { name: 'Download the receipt' }).click(),
    )
    const jwks = `${service.url}/.well-known/jwks.json`
    for (const { path } of [record, receipt]) {
      const run = await cli(['verify', path, '--jwks', jwks, '--json'])
      expect(run.code, run.stdout + run.stderr).toBe(0)
      expect(run.json()).toMatchObject({
        verdict: 'good',
        payload: { rid: both, decision: 'approved' },
        // The file holds the whole statement: what was approved is proven, not only that something was.
        checks: { intent: 'passed', context: 'passed', assertion: 'passed', votes: 'passed' },
      })
    }
    for (const { text } of [record, receipt]) {
      await cleo.page.goto('/verify')
      await cleo.page.getByLabel('Receipt, link or id').fill(text)
      await cleo.page.getByRole('button', { name: 'Check', exact: true }).click()
      await heading(cleo, '2 approvals, unchanged').waitFor()
    }
    await ana.page.getByRole('link', { name: 'Check this receipt' }).click()
    await heading(ana, /approvals?, unchanged$/).waitFor()
    expect(ana.page.url()).toBe(`${service.url}/verify#${both}`)
  })

  it('tells each of them what happened, as far as their role goes, and gives a file that can be checked', async () => {
    const service = suite.service()
    const [owner, approver, auditor] = [
      await suite.signedIn('olga@example.com'),
      await suite.signedIn('paul@example.com'),
      await suite.signedIn('quinn@example.com'),
    ]
    const [olga, paul, quinn] = [
      await userOf('olga@example.com'),
      await userOf('paul@example.com'),
      await userOf('quinn@example.com'),
    ]
    const key = await obtainKey(owner, 'night <i>bot</i>')
    await ask(service, key, { action: 'Not for Paul' })
    await setPolicy(service, olga.account_id, { approvers: [paul.id], quorum: 1 })
    await joinAccount(service, olga.account_id, quinn.id, 'auditor')
    const id = await ask(service, key, { action: 'For Paul' })
    await approver.page.goto(`/a/${id}`)
    await approver.page.getByRole('button', { name: 'Reject' }).click()
    await heading(approver, 'Rejected').waitFor()
    const company = `account=${olga.account_id}`
    const told = async ({ page }: Person, path: string): Promise<string[]> => {
      await page.goto(path)
      await page.getByRole('heading', { name: 'Audit log', exact: true }).waitFor()
      return page.locator('.audit-sentence').allInnerTexts()
    }
    const story = (who: string, whose: string): string[] => [
      `${who} rejected the request.`,
      `${whose} night <i>bot</i> made a request.`,
    ]
    // The trail has it a moment after it happened.
    await expect.poll(() => told(owner, `/audit?subject=${id}`)).toEqual(story(paul.name, 'The API key'))
    expect(await told(auditor, `/audit?subject=${id}&${company}`)).toEqual(story(paul.name, 'The API key'))
    expect(await told(approver, `/audit?subject=${id}&${company}`)).toEqual(story('You', 'The API key'))

    await expect.poll(async () => (await told(owner, '/audit?type=approval.created')).length).toBe(2)
    expect((await told(auditor, `/audit?type=approval.created&${company}`)).length).toBe(2)
    expect((await told(approver, `/audit?type=approval.created&${company}`)).length).toBe(1)
    // What a key left is carried on apart from what a request left.
    await expect
      .poll(() => told(owner, '/audit?type=key.created'))
      .toEqual(['You created the API key night <i>bot</i>.'])
    expect(await told(owner, '/audit?type=wrong')).toEqual([])
    await owner.page.getByText('must be a type of audit entry').waitFor()

    await told(auditor, `/audit?type=approval.created&${company}`)
    expect(await axeViolations(auditor.page)).toEqual([])
    const file = await saved(auditor, () =>
      auditor.page.getByRole('link', { name: 'Download NDJSON' }).click(),
    )
    const lines = file.text
      .trim()
      .split('\n')
      .map((line) => Object(JSON.parse(line)))
    expect(lines.map(({ type }) => type)).toEqual(['approval.created', 'approval.created'])
    const { deps, connection } = service.composition
    const trail = { trail: deps.trail, logs: deps.logs, survey: createStateSurvey(connection) }
    const [{ seq, hash }] = lines
    const ok = await checkTrail(trail, { expect: { seq, hash } })
    expect(ok.findings.filter(({ code }) => code === 'rewritten' || code === 'truncated')).toEqual([])
    const bad = await checkTrail(trail, { expect: { seq, hash: '0'.repeat(64) } })
    expect(bad.findings.map(({ code }) => code)).toContain('rewritten')
    const csv = await saved(approver, async () => {
      await approver.page.getByRole('link', { name: 'Download CSV' }).click()
    })
    expect(csv.text.split('\r\n').filter((line) => line !== '')).toHaveLength(2)
    expect(csv.text).toContain(id)
  })
})
