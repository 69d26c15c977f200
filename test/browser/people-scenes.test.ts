import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { busyOverview, peopleArea, sampleMember } from '../support/page-people-answers.ts'
import { SAMPLE_USER } from '../support/page-samples.ts'
import { lookAtScenes } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const LONG = 'wordwithoutspace'.repeat(5)
const area = peopleArea()

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()

/** Confirms what is asked with a code. */
async function confirm(page: Page): Promise<void> {
  await page.getByText('Use a code instead').click()
  await page.getByLabel('Code from your authenticator app').fill('123456')
  await press(page, 'Confirm with the code')
}

async function invite(page: Page): Promise<void> {
  await page.getByLabel('E-mail address').fill('cy@example.com')
  await press(page, 'Invite')
  await confirm(page)
  await page.getByText('Hand this link to').waitFor()
}

describeInBrowser('the pages of members and settings, for everybody', () => {
  const suite = usePageSuite(area)

  lookAtScenes(
    suite,
    { area, name: 'people', path: '/members' },
    {
      'the owner alone': {
        prepare: () => {
          area.members = area.members.slice(0, 1)
        },
        ready: '.entries',
      },
      'members of every kind': {
        prepare: () => {
          area.members.push(
            sampleMember({ user_id: 'usr_3', name: LONG, role: 'auditor', email: `${LONG}@example.com` }),
            sampleMember({ user_id: 'usr_4', name: 'p\u0430yroll\u202e', has_passkey: false }),
            sampleMember({
              user_id: 'usr_6',
              name: 'lost',
              recovery: {
                opens_at: '2026-11-22T08:00:00.000Z',
                expires_at: '2026-11-28T08:00:00.000Z',
                refused: false,
              },
            }),
            sampleMember({
              user_id: 'usr_5',
              name: 'dee',
              approver: null,
              state: 'invited',
              has_passkey: false,
              joined_at: null,
            }),
          )
        },
        ready: '.entries',
      },
      'an offer to set up anew': {
        path: '/account',
        prepare: (_, state) => {
          const times = { opens_at: '2026-11-22T08:00:00.000Z', expires_at: '2026-11-28T08:00:00.000Z' }
          state.recovery = { account_name: LONG, ...times }
        },
        ready: '.notice.warning',
      },
      'an overview without requests': { path: '/overview', ready: '.overview' },
      'an overview of a busy month': {
        path: '/overview',
        prepare: () => {
          area.overview = busyOverview(LONG)
          area.account = { ...area.account, quota: { ...area.account.quota, used: 9_000 } }
        },
        ready: '.day-chart',
        act: (page) => page.getByText('The same as a table').click(),
      },
      'an invitation link': { ready: '.entries', act: invite },
      'a refused invitation': {
        prepare: () => {
          area.refuse = { code: 'member_exists' }
        },
        ready: '.entries',
        act: async (page) => {
          await press(page, 'Invite')
          await page.getByText('Enter the e-mail address of the person you invite.').waitFor()
          await page.getByLabel('E-mail address').fill('bo@example.com')
          await press(page, 'Invite')
          await page.getByText('is already a member, or already invited').waitFor()
        },
      },
      'the form for a role': {
        ready: '.entries',
        act: async (page) => {
          await press(page, 'Change role: Bo Lind')
          await page.getByRole('form', { name: 'Change the role' }).waitFor()
        },
      },
      'the proof before a removal': {
        ready: '.entries',
        act: async (page) => {
          await press(page, 'Remove: Bo Lind')
          await page.getByRole('dialog').waitFor()
        },
      },
      settings: { path: '/settings', ready: '.meter' },
      'settings of an account that is stuck': {
        path: '/settings',
        prepare: () => {
          const named = {
            user_id: 'usr_9',
            email: 'gone@example.com',
            name: LONG,
            approver: 'app_9',
            confirmed: true,
            eligible: false,
          }
          area.policy.approvers = [{ ...named, has_passkey: false, has_totp: false }]
          Object.assign(area.policy, { reachable: false, quorum: 2, passkey_only: true, high_impact: true })
          area.account.quota.used = 10_000
          area.members.push(
            sampleMember({ user_id: 'usr_3', name: 'Cy', has_passkey: false, has_totp: true }),
          )
        },
        ready: '.meter',
      },
      'a refused policy': {
        path: '/settings',
        ready: '.meter',
        act: async (page) => {
          await page.getByLabel('Approvals needed').fill('3')
          await page.getByLabel('Reminders').fill('50, 120')
          await press(page, 'Save the policy')
          await page.getByText('Only one person is ticked: enter 1.').waitFor()
          await page.getByLabel('Approvals needed').fill('1')
          await press(page, 'Save the policy')
          await page.getByText('Enter up to 2 whole numbers').waitFor()
        },
      },
      'an account with sessions, a delegate and other accounts': {
        path: '/account',
        prepare: () => {
          const state = suite.server().state
          state.accounts = [
            { id: SAMPLE_USER.account_id, name: 'Ana Pereira', role: 'owner', own: true },
            { id: 'acc_2', name: LONG, role: 'auditor', own: false },
          ]
          state.user = {
            ...state.user,
            delegate: {
              name: 'Bo Lind',
              email: 'bo@example.com',
              starts_at: '2026-11-21T08:00:00.000Z',
              ends_at: '2026-11-28T08:00:00.000Z',
            },
          }
          area.sessions.push(
            { ...area.sessions[0], id: 'ses_2', current: false, user_agent: `curl/8 ${LONG}` } as never,
            { ...area.sessions[0], id: 'ses_3', current: false, user_agent: '' } as never,
          )
        },
        ready: '.entries',
      },
      'the form for a delegate': {
        path: '/account',
        prepare: () => {
          area.candidates = [{ user_id: 'usr_2', email: 'bo@example.com', name: 'Bo Lind' }]
        },
        ready: '.pair',
        act: async (page) => {
          await page.getByLabel('Until').fill('2020-01-01T00:00')
          await press(page, 'Let them decide for me')
          await page.getByText('It must end after it begins.').waitFor()
        },
      },
    },
  )

  it.each([1280, 390])('has every page of the account begin where the others do: %i px', async (width) => {
    const { page } = await suite.visit({ viewport: { width, height: 900 } })
    const lefts = new Set<number | undefined>()
    const tops = new Set<number | undefined>()
    for (const path of ['/', '/keys', '/members', '/settings', '/account', '/verify']) {
      await page.goto(path)
      await page.locator('main.wide .card:visible, main.wide #waiting').first().waitFor()
      const title = await page.getByRole('heading', { level: 1 }).boundingBox()
      lefts.add(title?.x)
      tops.add(title?.y)
      lefts.add((await page.locator('.brand').boundingBox())?.x)
    }
    expect(lefts.size).toBe(1)
    expect(tops.size).toBe(1)
  })

  it('has channels read names at a tick, and takes it back', async () => {
    const { page } = await suite.visit()
    await page.goto('/settings')
    const names = page.getByLabel('Show names in channels')
    expect(await names.isChecked()).toBe(false)
    area.account.names_in_channels = true
    await names.check()
    await page.getByText('Channels show names from now on.').waitFor()
    expect(area.sent).toEqual([{ call: 'PATCH /account', body: { names_in_channels: true } }])
    await page.goto('/settings')
    expect(await names.isChecked()).toBe(true)
    area.account.names_in_channels = false
    await names.uncheck()
    await page.getByText('Channels show references from now on.').waitFor()
    expect(area.sent.at(-1)).toEqual({ call: 'PATCH /account', body: { names_in_channels: false } })
  })

  it('saves reasons for rejecting, one a line', async () => {
    const { page } = await suite.visit()
    await page.goto('/settings')
    const reasons = page.getByLabel('Reasons', { exact: true })
    expect(await reasons.inputValue()).toBe('Not now\nNot allowed')
    await reasons.fill(' Too much\n\nNot now ')
    await page.getByRole('button', { name: 'Save the reasons' }).click()
    await page.getByText('The reasons for rejecting are saved.').waitFor()
    expect(area.sent).toEqual([{ call: 'PATCH /account', body: { reject_reasons: ['Too much', 'Not now'] } }])
  })

  it('sends the policy as it stands in the form, with a proof', async () => {
    area.members.push(sampleMember({ user_id: 'usr_3', name: 'Cy' }))
    area.policy.can_attest = true
    const { page } = await suite.visit()
    await page.goto('/settings')
    await page.getByRole('checkbox', { name: 'Bo Lind' }).check()
    await page.getByRole('checkbox', { name: 'Cy' }).check()
    await page.getByLabel('Authenticators').selectOption('models')
    await page.getByLabel('Approvals needed').fill('2')
    await page.getByLabel('Passkeys only').check()
    await page.getByLabel('Reminders').fill('75 25')
    await press(page, 'Save the policy')
    await page.getByText('Enter AAGUIDs, such as').waitFor()
    await page.getByLabel('Models').fill('EE882879-721c-4913-9775-3dfcce97072a')
    await press(page, 'Save the policy')
    await page.getByText('Passkeys: only ee882879-721c-4913-9775-3dfcce97072a, proven').waitFor()
    await confirm(page)
    await page.getByText('The policy is saved.').waitFor()
    expect(area.sent).toEqual([
      {
        call: 'PUT /account/policy',
        body: {
          approvers: [area.members[0]?.user_id, 'usr_2', 'usr_3'],
          quorum: 2,
          passkey_only: true,
          high_impact: false,
          confirmed_only: false,
          authenticators: ['ee882879-721c-4913-9775-3dfcce97072a'],
          reminders: [0.25, 0.75],
          proof: { totp: '123456' },
        },
      },
    ])
  })

  it('keeps what was typed in one card while another is saved', async () => {
    const { page } = await suite.visit()
    await page.goto('/settings')
    const impact = page.getByLabel('Every request is high impact')
    const name = page.getByRole('textbox', { name: 'Name of the account' })
    await impact.check()
    await name.fill('Paper mill')
    await page.getByLabel('Show names in channels').check()
    await page.getByText('Channels show names from now on.').waitFor()
    expect(await name.inputValue()).toBe('Paper mill')
    area.account.name = 'Paper mill'
    await press(page, 'Save the name')
    await page.getByText('The account has a new name.').waitFor()
    await name.fill('Paper')
    await press(page, 'Save the policy')
    await confirm(page)
    await page.getByText('The policy is saved.').waitFor()
    expect(area.sent.at(-1)).toMatchObject({ call: 'PUT /account/policy', body: { high_impact: true } })
    expect(await name.inputValue()).toBe('Paper')
    // What is saved is drawn anew, as the service says it is.
    expect(await impact.isChecked()).toBe(false)
  })

  it('saves no policy over one that was set elsewhere meanwhile, but shows it, with what was typed', async () => {
    area.policy.can_attest = true
    const { page } = await suite.visit()
    await page.goto('/settings')
    await page.getByLabel('Reminders').fill('75')
    await page.getByLabel('Every request is high impact').check()
    await page.getByRole('checkbox', { name: 'Bo Lind' }).check()
    area.members.push(sampleMember({ user_id: 'usr_3', name: 'Cy', email: 'cy@example.com' }))
    const { user_id, email, name } = Object(area.members[2])
    const cy = { user_id, email, name, approver: 'app_3', confirmed: true, eligible: true }
    area.policy = {
      ...area.policy,
      passkey_only: true,
      reminders: [0.2],
      authenticators: 'attested',
      approvers: [{ ...cy, has_passkey: true, has_totp: false }],
    }
    await press(page, 'Save the policy')
    await page
      .getByText(
        'Not done: the policy was changed elsewhere in the meantime. Approvers: Cy. Passkeys only: yes. Passkeys: only those of a verified model. Reminders: 20 %. The form now shows that policy',
      )
      .waitFor()
    expect(area.sent).toEqual([])
    await press(page, 'Save the policy')
    await confirm(page)
    await page.getByText('The policy is saved.').waitFor()
    expect(area.sent.at(-1)?.body).toMatchObject({
      approvers: ['usr_2', 'usr_3'],
      passkey_only: true,
      high_impact: true,
      authenticators: 'attested',
      reminders: [0.2],
    })
  })

  it('keeps a typed name and a delegate’s days when a session is ended, or another time zone is chosen', async () => {
    area.candidates = [{ user_id: 'usr_2', email: 'bo@example.com', name: 'Bo Lind' }]
    area.sessions.push({ ...area.sessions[0], id: 'ses_2', current: false } as never)
    const { page } = await suite.visit()
    await page.goto('/account')
    const typed = () =>
      Promise.all(['Your name', 'Until'].map((label) => page.getByLabel(label, { exact: true }).inputValue()))
    await page.getByLabel('Your name').fill('Ana P.')
    await page.getByLabel('Until').fill('2099-01-01T00:00')
    await page
      .getByRole('button', { name: /^End the session of/ })
      .first()
      .click()
    await page.getByText('The session is ended.').waitFor()
    expect(await typed()).toEqual(['Ana P.', '2099-01-01T00:00'])
    const zone = page.getByLabel('Time zone', { exact: true })
    expect(await zone.locator('option', { hasText: /Kyiv|Kiev/ }).allTextContents()).toEqual(['Kyiv'])
    await zone.selectOption('UTC')
    await page.getByText('Save your input first.').waitFor()
    expect(await typed()).toEqual(['Ana P.', '2099-01-01T00:00'])
  })

  it('ends the other sessions and a delegation, and leaves an account only when that was asked', async () => {
    const { state } = suite.server()
    state.accounts = [
      { id: SAMPLE_USER.account_id, name: 'Ana Pereira', role: 'owner', own: true },
      { id: 'acc_2', name: 'Bo Lind', role: 'auditor', own: false },
    ]
    const times = { starts_at: '2026-11-21T08:00:00.000Z', ends_at: '2026-11-28T08:00:00.000Z' }
    state.user = { ...state.user, delegate: { name: 'Bo Lind', email: 'bo@example.com', ...times } }
    area.sessions.push({ ...area.sessions[0], id: 'ses_2', current: false } as never)
    const { page } = await suite.visit()
    await page.goto('/account')
    await press(page, 'End all others')
    await page.getByText('2 other sessions are ended.').waitFor()
    await press(page, 'End the delegation')
    await page.getByText('You no longer have a delegate.').waitFor()
    const asked = page.getByRole('dialog')
    await press(page, 'Leave the account Bo Lind')
    await asked.getByRole('button', { name: 'Cancel' }).click()
    await press(page, 'Leave the account Bo Lind')
    await asked.getByRole('button', { name: 'Leave' }).click()
    await page.getByText('You have left the account.').waitFor()
    expect(area.sent.map(({ call }) => call)).toEqual([
      'POST /me/sessions/end-others',
      'POST /me/delegate/remove',
      'POST /me/memberships/acc_2/leave',
    ])
  })

  it('makes another link for somebody who has not answered the invitation, with a proof', async () => {
    const invited = { approver: null, state: 'invited', has_passkey: false, joined_at: null } as const
    area.members.push(sampleMember({ user_id: 'usr_5', name: 'Dee', ...invited }))
    const { page } = await suite.visit()
    await page.goto('/members')
    await press(page, 'New link: Dee')
    await page.getByText('The one before stops working.').waitFor()
    await confirm(page)
    await page.getByText('Hand this link to').waitFor()
    const call = 'POST /account/members/usr_5/link'
    expect(area.sent).toEqual([{ call, body: { proof: { totp: '123456' } } }])
  })

  it('asks for nothing more when the proof is cancelled: the form keeps what was typed', async () => {
    const { page } = await suite.visit()
    await page.goto('/members')
    await page.getByLabel('E-mail address').fill('cy@example.com')
    await press(page, 'Invite')
    await press(page, 'Cancel')
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('cy@example.com')
    expect(area.sent).toEqual([])
  })
})
