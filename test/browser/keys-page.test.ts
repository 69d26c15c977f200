import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeEach, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, type Visitor } from '../support/browser.ts'
import { keysArea, sampleKey, secretOf } from '../support/page-keys-answers.ts'
import { usePageSuite } from '../support/page-suite.ts'

const HOSTILE = '<img src=x onerror=alert(1)>\u202e'

describeInBrowser('the page of API keys', () => {
  const area = keysArea()
  const suite = usePageSuite(area)
  let visitor: Visitor
  let page: Page

  beforeEach(async () => {
    visitor = await suite.visit()
    page = visitor.page
  })
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const open = async (path = '/keys'): Promise<void> => {
    await page.goto(path)
    await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor()
  }
  const rows = async (): Promise<string[]> =>
    (await page.locator('.entry:visible .key-about').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '))
  const confirm = async (): Promise<void> => {
    await page.getByText('Use a code instead').click()
    await page.getByLabel('Code from your authenticator app').fill('123456')
    await press('Confirm with the code')
  }

  it('says of each key what it is, what it may do and when it was used', async () => {
    await page.clock.setFixedTime(new Date('2026-11-25T12:00:00.000Z'))
    area.keys.push(
      sampleKey({
        id: 'key_3',
        name: 'github',
        source_control: true,
        scopes: ['approval:create', 'approval:read'],
        last_used_at: null,
        policy: { approvers: ['usr_ana', 'usr_ben'], quorum: 2, passkey_only: true, high_impact: undefined },
      }),
    )
    await open()
    expect(await rows()).toEqual([
      'ops-agent-prod Live sa_live_4f9Kq2… · created 2 Oct 2026 · last used 5 days ago',
      'github Live Source control Own policy sa_live_4f9Kq2… · created 2 Oct 2026 · never used Only for: approval:create, approval:read Own policy: 2 of the approvers, at least 2 approvals, passkeys only',
    ])
    await page.setViewportSize({ width: 390, height: 844 })
    expect((await page.locator('.entry').first().boundingBox())?.height).toBeLessThanOrEqual(100)
    await page.setViewportSize({ width: 1280, height: 1600 })
    await page.getByText('Revoked keys (1)').click()
    expect((await rows()).at(-1)).toBe(
      'try-out Sandbox sa_test_81bZx0… · created 2 Oct 2026 · never used · revoked 5 Oct 2026',
    )
    expect(await page.getByRole('button', { name: 'try-out' }).count()).toBe(0)
  })

  it('leads from a key to its requests, and gives what is found as a file', async () => {
    area.keys.push(sampleKey({ id: 'key_3', name: '=SUM(A1)', last_used_at: null }))
    await open('/keys?q=sum')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(await readFile(await download.path(), 'utf8')).toBe(
      `id,name,key_prefix,sandbox,scopes,source_control,created_at,last_used_at,revoked_at\r\nkey_3,'=SUM(A1),sa_live_4f9Kq2,false,approval:create approval:read approval:verify,false,2026-10-02T08:10:00.000Z,,\r\n`,
    )
    expect(
      await page.getByRole('link', { name: 'Requests of the API key =SUM(A1)' }).getAttribute('href'),
    ).toBe('/requests?key=key_3')
    expect(visitor.incidents).toEqual([])
  })

  it('tells two keys of one name apart: by prefix in buttons and questions, by the time that is exact on hover', async () => {
    await page.clock.setFixedTime(new Date('2026-11-21T12:00:00.000Z'))
    const created_at = '2026-11-21T09:41:00.000Z'
    area.keys.push(sampleKey({ id: 'key_3', key_prefix: 'sa_live_n3wK3y', created_at, last_used_at: null }))
    await open()
    const [old = '', fresh = ''] = await rows()
    expect(old).toContain('created 2 Oct 2026 · last used 1 day ago')
    expect(fresh).toMatch(/created 2 h ago/)
    expect(await page.locator('.key-about').nth(1).locator('time').getAttribute('title')).toBe(
      '21 Nov 2026, 09:41:00 UTC',
    )
    expect(
      await page.getByRole('button', { name: 'Revoke the API key ops-agent-prod', exact: true }).count(),
    ).toBe(0)
    await press('Rotate the API key ops-agent-prod sa_live_4f9Kq2…')
    await page.locator('.row-panel').getByText('ops-agent-prod (sa_live_4f9Kq2…)').waitFor()
    await press('Revoke the API key ops-agent-prod sa_live_n3wK3y…')
    expect(await page.getByRole('dialog').innerText()).toContain(
      'ops-agent-prod (sa_live_n3wK3y…) stops working',
    )
    expect(await axeViolations(page)).toEqual([])
  })

  it('begins with the form for whoever has no key, and says what a key is for', async () => {
    area.keys = []
    await open()
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Create your first API key',
    ])
    expect(await page.locator('main').innerText()).toContain('makes requests with it')
  })

  it('sends what was chosen, shows the key once, and its signing secret only when asked', async () => {
    await open()
    await page.getByLabel('Name of the key').fill(' ci ')
    await page.getByLabel('Sandbox key').check()
    await page.getByLabel('For a source-control integration').check()
    await page.getByLabel('Verify receipts').uncheck()
    await press('Create an API key')
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor()
    const scopes = ['approval:create', 'approval:read']
    expect(area.sent).toEqual([{ name: 'ci', sandbox: true, scopes, source_control: true }])
    expect(await page.locator('.new-key .secret-box code').first().innerText()).toMatch(/^sa_test_/)
    expect(suite.server().calls).not.toContain('GET /account/webhook-secret')
    await press('Show the signing secret')
    await page.getByText(secretOf('key_3')).waitFor()
    await press('I saved the key')
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain('n3wK3yn3wK3y')
    expect(await page.content()).not.toContain(secretOf('key_3'))
  })

  it('loses nothing of a form that is refused, and says at the field what is wrong', async () => {
    await open()
    await press('Create an API key')
    await page.getByText('Give the key a name.').waitFor()
    area.refuse = { code: 'invalid_field', details: { field: 'name', detail: 'is too long' } }
    await page.getByLabel('Name of the key').fill('ci')
    await page.getByLabel('Sandbox key').check()
    await press('Create an API key')
    await page.getByText('It is too long.', { exact: true }).waitFor()
    expect(await page.getByLabel('Name of the key').inputValue()).toBe('ci')
    expect(await page.getByLabel('Sandbox key').isChecked()).toBe(true)
    area.refuse = { code: 'key_limit' }
    await press('Create an API key')
    await page.getByText('You have reached').or(page.getByText('The account has reached')).waitFor()
    expect(await page.getByLabel('Name of the key').inputValue()).toBe('ci')
  })

  it('renames without a proof, and closes a form in which nothing was changed', async () => {
    await open()
    await press('Edit the API key ops-agent-prod')
    await page.getByLabel('Name', { exact: true }).waitFor()
    expect(await page.evaluate('document.activeElement.name')).toBe('name')
    await press('Save')
    expect(area.sent).toEqual([])
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Edit')
    const held: (() => void)[] = []
    const arrive = async (): Promise<void> => {
      await expect.poll(() => held.length).toBe(1)
      held.pop()?.()
    }
    for (const late of ['**/account/policy', '**/account/api-keys/*'])
      await page.route(late, (route) => void held.push(() => void route.continue()))
    await press('Edit the API key ops-agent-prod')
    await page.getByLabel('Sandbox key').check()
    await page.getByLabel('Name of the key').pressSequentially('c')
    await arrive()
    await page.getByLabel('Name', { exact: true }).waitFor()
    await page.keyboard.type('i')
    await page.getByLabel('Name', { exact: true }).fill('ops-agent')
    await press('Save')
    await page.getByLabel('Name of the key').focus()
    await arrive()
    await page.locator('main').getByText('The API key is changed.').waitFor()
    await page.keyboard.type('-2')
    expect(area.sent).toEqual([{ name: 'ops-agent' }])
    expect(await page.getByLabel('Name of the key').inputValue(), 'of the other card').toBe('ci-2')
    expect(await page.getByLabel('Sandbox key').isChecked()).toBe(true)
  })

  it('sets a policy of the key’s own after a proof for this key, and takes it away again', async () => {
    await open()
    await press('Edit the API key ops-agent-prod')
    await page.getByLabel('Only these of them').check()
    await page.getByLabel('Approvals needed').fill('2')
    await page.getByLabel('Passkeys only').check()
    await press('Save')
    await page.getByText('Choose at least one approver.').waitFor()
    const ana = page.getByLabel('Ana Pereira')
    expect(await ana.getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('All approvers of the account').check()
    await page.getByLabel('Only these of them').check()
    expect(await ana.getAttribute('aria-invalid')).toBe('false')
    await press('Save')
    expect(await ana.getAttribute('aria-invalid')).toBe('true')
    await ana.check()
    expect(await ana.getAttribute('aria-invalid')).toBe('false')
    await press('Save')
    await page.getByText('Only one person approves: enter 1.').waitFor()
    await page.getByLabel('Ben Okafor').check()
    const asked = page.waitForRequest('**/me/step-up/options')
    await press('Save')
    expect((await asked).postDataJSON()).toEqual({ operation: 'key.change', target: 'key_1' })
    await page.getByRole('dialog').waitFor()
    expect(await page.getByRole('dialog').locator('h2 + p').innerText()).toBe(
      'Confirm the new rules of the API key ops-agent-prod (sa_live_4f9Kq2…). Own policy: 2 of the approvers, at least 2 approvals, passkeys only. Asked: Ana Pereira, Ben Okafor.',
    )
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(area.sent).toEqual([])
    expect(await page.getByLabel('Approvals needed').inputValue()).toBe('2')
    await press('Save')
    await confirm()
    await page.getByText('The API key is changed.').waitFor()
    const policy = { approvers: ['usr_ana', 'usr_ben'], quorum: 2, passkey_only: true }
    expect(area.sent).toEqual([{ policy, proof: { totp: '123456' } }])

    await press('Edit the API key ops-agent-prod')
    expect(await page.getByLabel('Ana Pereira').isChecked()).toBe(true)
    expect(await page.getByLabel('Cleo Marsh').isChecked()).toBe(false)
    await page.getByLabel('All approvers of the account').check()
    await page.getByLabel('Approvals needed').fill('')
    await page.getByLabel('Passkeys only').uncheck()
    await press('Save')
    await confirm()
    await expect.poll(() => area.sent.at(-1)).toEqual({ policy: null, proof: { totp: '123456' } })
  })

  it('shows what the account demands as given, and never sends it as the key’s own', async () => {
    Object.assign(area.policy, { passkey_only: true, high_impact: true, quorum: 2 })
    await open()
    await press('Edit the API key ops-agent-prod')
    for (const label of ['Passkeys only', 'Every request is high impact']) {
      expect(await page.getByLabel(label).isChecked()).toBe(true)
      expect(await page.getByLabel(label).isDisabled()).toBe(true)
    }
    expect(await page.locator('.policy-fields').innerText()).toContain('The account requires 2.')
    await page.getByRole('form').getByLabel('For a source-control integration').check()
    await press('Save')
    await confirm()
    await expect.poll(() => area.sent).toEqual([{ source_control: true, proof: { totp: '123456' } }])
  })

  it('keeps the form of a policy that the service refuses', async () => {
    area.refuse = { code: 'no_eligible_approver' }
    await open()
    await press('Edit the API key ops-agent-prod')
    await page.getByLabel('Passkeys only').check()
    await press('Save')
    await page.getByText('Not done: with these rules no one could approve requests of this key.').waitFor()
    expect(await page.getByLabel('Passkeys only').isChecked()).toBe(true)
  })

  it('says in the row why the form did not open', async () => {
    await open()
    await page.route('**/account/policy', (route) => route.abort())
    await press('Edit the API key ops-agent-prod')
    await page.locator('.row-panel').getByText('The service does not respond.').waitFor()
  })

  it('shows the signing secret of a key and hides it again', async () => {
    await open()
    await press('Signing secret of the API key ops-agent-prod')
    await page.getByText(secretOf('key_1')).waitFor()
    await press('Hide it')
    expect(await page.getByText(secretOf('key_1')).count()).toBe(0)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Signing secret')
  })

  it('asks before a key is revoked, and says why it was not', async () => {
    await open()
    await press('Revoke the API key ops-agent-prod')
    const dialog = page.getByRole('dialog')
    const about = await dialog.getAttribute('aria-describedby')
    expect(await page.locator(`#${about}`).innerText()).toContain('Its pending requests stay in the inboxes')
    // Pressed twice, Enter revokes nothing.
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(area.sent).toEqual([])
    area.refuse = { code: 'not_found' }
    await press('Revoke the API key ops-agent-prod')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.locator('.row-panel').getByText('There is no such resource').waitFor()
    area.refuse = undefined
    await press('Revoke the API key ops-agent-prod')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('The API key is revoked.').waitFor()
    await page.getByText('Every key is revoked.').waitFor()
  })

  it('needs the keyboard alone: opens a form, leaves it, creates a key and refuses to revoke one', async () => {
    await open()
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.getByRole('button', { name: 'Edit the API key ops-agent-prod' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('form').waitFor()
    await page.keyboard.type('-2')
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toMatch(/-2/)
    await page.getByRole('button', { name: 'Cancel' }).focus()
    await page.keyboard.press('Space')
    expect(await focused()).toBe('Edit')
    for (const name of ['Rotate', 'Signing secret', 'Revoke']) {
      await page.keyboard.press('Tab')
      expect(await focused()).toBe(name)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Revoke')
    await page.getByLabel('Name of the key').focus()
    await page.keyboard.type('typed')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor()
    expect(await focused()).toBe('Your new API key')
    expect(area.sent).toHaveLength(1)
  })

  it('shows names as names (T43, T45)', async () => {
    area.keys = [sampleKey({ name: HOSTILE })]
    await open()
    const shown = HOSTILE.replace('\u202e', '[U+202E]')
    expect(await page.locator('.entry-name bdi.caller-text').allInnerTexts()).toEqual([shown])
    expect(await page.locator('.text-flag').count()).toBe(1)
    await press(`Revoke the API key ${shown}`)
    expect(await page.getByRole('dialog').innerText()).toContain(shown)
    expect(visitor.incidents).toEqual([])
  })
})
