import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { peopleArea, sampleMember } from '../support/page-people-answers.ts'
import { sampleReview } from '../support/page-samples.ts'
import { usePageSuite } from '../support/page-suite.ts'

const STAY =
  'Pending requests that name them stay as they are: they can still decide them until they expire. Withdraw under Requests those that must not stay pending.'

describeInBrowser('whoever confirms a change reads all of it first', () => {
  const area = peopleArea()
  const suite = usePageSuite(area)
  let page: Page

  beforeEach(async () => {
    page = (await suite.visit({ viewport: { width: 360, height: 740 } })).page
  })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const open = async (path: string): Promise<void> => {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  /** What the dialog asks to confirm; it is fit for everybody. */
  const asked = async (): Promise<string> => {
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    return dialog.locator('h2 + p').innerText()
  }
  const confirm = async (): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await press('Confirm with the code')
  }

  it('T93: that a member set up anew; and whoever lost no device refuses it on any page', async () => {
    const times = { opens_at: '2026-11-22T08:00:00.000Z', expires_at: '2026-11-28T08:00:00.000Z' }
    await open('/members')
    await press('Lost a device: Bo Lind')
    expect(await asked()).toContain('They are told at once and can refuse.')
    await confirm()
    await page.getByText('Whoever opens it then decides in their name').waitFor()
    area.members[1] = sampleMember({ recovery: { ...times, refused: false } })
    await press('I have handed it over')
    await page.getByText('May set up their sign-in anew from').waitFor()
    area.members[1] = sampleMember({ recovery: { ...times, refused: true } })
    await press('Cancel the set-up: Bo Lind')
    await page.getByText('Refused to set up their sign-in anew').waitFor()
    expect(await page.getByRole('button', { name: 'Lost a device' }).count()).toBe(0)
    suite.server().state.recovery = { account_name: 'Ada', ...times }
    await page.goto('/account')
    const cancel = page.getByRole('button', { name: 'This was not me: cancel' })
    await cancel.waitFor()
    // Also where whoever comes by a link from chat sees nothing else.
    await page.goto(`/a/${sampleReview().id}`)
    await cancel.waitFor()
    suite.server().state.recovery = undefined
    await cancel.click()
    await page.getByText('Your sign-in stays as it is').waitFor()
    const path = '/account/members/usr_2/recovery'
    expect(area.sent).toEqual([
      { call: `POST ${path}`, body: { proof: { totp: '123456' } } },
      { call: `POST ${path}/cancel`, body: {} },
      { call: 'POST /me/recovery/refuse', body: {} },
    ])
  })

  it('T79: that somebody who leaves can still decide the open requests that name them', async () => {
    await open('/members')
    await press('Remove: Bo Lind')
    expect(await asked()).toBe(
      `Confirm that Bo Lind will be removed from the account. New requests will not name them. ${STAY}`,
    )
  })

  it('that the policy needs whoever is removed or loses the right, and what then happens', async () => {
    const NEEDED =
      'The policy then needs more approvers than there are: new requests are refused until you change it.'
    const named = area.members.map(({ user_id, email, name, approver }) => ({
      ...{ user_id, email, name, approver: String(approver), confirmed: true, eligible: true },
      ...{ has_passkey: true, has_totp: false },
    }))
    Object.assign(area.policy, { approvers: named, quorum: 2 })
    await open('/members')
    await press('Remove: Bo Lind')
    expect(await asked()).toContain(NEEDED)
    await press('Cancel')
    await press('Change role: Bo Lind')
    const form = page.getByRole('form', { name: 'Change the role' })
    expect(await form.innerText()).toContain(NEEDED)
    await form.getByLabel('Role').selectOption('Auditor')
    await press('Save')
    expect(await asked()).toContain(NEEDED)
    area.policy.quorum = 1
    await open('/members')
    await press('Remove: Bo Lind')
    expect(await asked()).not.toContain('The policy then needs')
  })

  it('T79: the new role and of whom, and that it leaves open requests alone', async () => {
    await open('/members')
    await press('Change role: Bo Lind')
    const form = page.getByRole('form', { name: 'Change the role' })
    expect(await form.innerText()).toContain(STAY)
    await form.getByLabel('Role').selectOption('Auditor')
    expect(await form.innerText()).toContain('New requests do not name them, and they change nothing.')
    expect(await form.innerText()).not.toContain('Decides and changes nothing')
    await press('Save')
    expect(await asked()).toBe(
      `Confirm that Bo Lind becomes an auditor and is no longer an approver. ${STAY}`,
    )
  })

  it('an invitation with its role, and what is taken back; a link says what it is for newcomers and for others', async () => {
    area.members.push(sampleMember({ user_id: 'usr_3', name: 'Cy', state: 'invited', joined_at: null }))
    await open('/members')
    await press('Remove: Cy')
    expect(await asked()).toBe('Confirm that you withdraw the invitation of Cy.')
    await press('Cancel')
    await page.getByLabel('E-mail address').fill('dee@example.com')
    await page.getByRole('form', { name: 'Invite a person' }).getByLabel('Role').selectOption('Auditor')
    await press('Invite')
    expect(await asked()).toBe('Confirm that you invite dee@example.com as an auditor.')
    await confirm()
    await page.getByText('Hand this link to').waitFor()
    const text = await page.locator('main').innerText()
    expect(text).toContain('If they are new here, the first person to open it signs up in their place')
    expect(text).toContain('if they have signed up before, they sign in to accept')
  })

  it('a policy whole: who, how many, passkeys, impact, reminders', async () => {
    await open('/settings')
    await page.getByLabel(/bo@example\.com/).check()
    await page.getByLabel('Approvals needed').fill('2')
    await page.getByLabel('Passkeys only').check()
    await press('Save the policy')
    expect(await asked()).toBe(
      'Confirm the new policy of the account. Approvers: Ana Pereira, Bo Lind. Approvals needed: 2. Passkeys only: yes. Every request is high impact: no. Only people the operator confirmed: no. Reminders: 50 %, 90 %.',
    )
  })

  it('who decides for them, and from when until when', async () => {
    area.candidates = [{ user_id: 'usr_2', email: 'bo@example.com', name: 'Bo Lind' }]
    await open('/account')
    await page.evaluate(`localStorage.setItem('time-zone', 'Asia/Tokyo')`)
    await open('/account')
    const delegate = page.getByRole('region', { name: 'Delegate' })
    expect(await delegate.innerText()).toContain('The signed statement of each decision then names both')
    await delegate.getByLabel('From').fill('2030-03-04T08:00')
    await delegate.getByLabel('Until').fill('2030-03-09T17:30')
    await press('Let them decide for me')
    expect(await asked()).toMatch(
      /^Confirm that Bo Lind \(bo@example\.com\) decides for you from 4 Mar 2030, 08:00:00 GMT\+9 until 9 Mar 2030, 17:30:00 GMT\+9\.$/,
    )
  })

  it('T43: writes out what is hidden in the name of a delegate, a passkey and a program', async () => {
    area.candidates = [{ user_id: 'usr_3', email: 'cy@example.com', name: 'Cy\u202e' }]
    area.sessions.push({
      ...(area.sessions[0] ?? expect.unreachable()),
      id: 'ses_9',
      current: false,
      user_agent: 'cu\u202erl',
    })
    Object.assign(suite.server().state.factors.passkeys[0] ?? expect.unreachable(), { name: 'Key\u202e' })
    await open('/account')
    expect(await page.getByLabel('Who decides for you').innerText()).toBe('Cy[U+202E] (cy@example.com)')
    await page.getByRole('button', { name: 'Remove the passkey Key[U+202E]' }).waitFor()
    await page.getByRole('button', { name: 'End the session of cu[U+202E]rl' }).waitFor()
  })

  it.each(['attested', 'models'])(
    'says what is wrong with the authenticators where it is seen: %s',
    async (kind) => {
      area.policy.can_attest = true
      area.refuse = {
        code: 'invalid_field',
        details: { field: 'authenticators', detail: 'must count yours' },
      }
      await open('/settings')
      await page.getByLabel('Authenticators').selectOption(kind)
      if (kind === 'models') await page.getByLabel('Models').fill('ee882879-721c-4913-9775-3dfcce97072a')
      await press('Save the policy')
      await page.getByText('It must count yours.').waitFor()
      expect(await page.getByRole('dialog').count(), 'before a proof is asked for').toBe(0)
      expect(await page.evaluate('document.activeElement.name')).toBe(
        kind === 'models' ? kind : 'authenticators',
      )
    },
  )

  it('says of a policy that nobody could reach what is wrong with it, and of the one before no “Done” any more', async () => {
    await open('/settings')
    await press('Save the policy')
    await confirm()
    const done = page.getByText('The policy is saved.')
    await done.waitFor()
    area.refuse = { code: 'no_eligible_approver' }
    await page.getByLabel('Only people the operator confirmed').check()
    await press('Save the policy')
    const said = page.getByRole('alert').filter({ hasText: 'Not done:' })
    await said.waitFor()
    expect(await said.innerText()).toBe(
      'Not done: with this policy no one could approve anything. Name more approvers, require fewer approvals, have the approvers set up passkeys that the policy counts, or have the operator confirm them (countersign user confirm).',
    )
    expect(await done.count()).toBe(0)
    expect(await page.getByLabel('Only people the operator confirmed').isChecked()).toBe(true)
  })

  it('the page of members says so when nobody can approve', async () => {
    area.members = area.members.slice(0, 1)
    await open('/members')
    const people = page.getByRole('region', { name: 'Members of this account' })
    expect(await people.innerText()).toContain('Only you can be named as an approver.')
    expect(await people.innerText()).not.toContain('no one can approve')
    const { user_id, email, name, approver = '' } = area.members[0] ?? expect.unreachable()
    const named = { user_id, email, name, approver: String(approver), confirmed: true, eligible: true }
    area.policy.approvers = [{ ...named, has_passkey: false, has_totp: false }]
    await open('/members')
    expect(await people.innerText()).toContain(
      'they need 1 approval, and 0 of the people named have a passkey or code that works.',
    )
    area.policy.reachable = false
    await open('/members')
    expect(await people.innerText()).toContain(
      'Under this policy no one can approve now, and new requests are refused.',
    )
    expect(await axeViolations(page)).toEqual([])
    expect(await overflow(page)).toBeLessThanOrEqual(0)
  })
})
