import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { codeIn } from '../support/mail-setting.ts'
import { useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('what a person is told by which channel', () => {
  const env: Record<string, string> = {}
  let server: MailServer
  beforeAll(async () => {
    server = await startMailServer()
    Object.assign(env, server.env)
  })
  const suite = useServiceSuite({ env })
  afterAll(() => server.close())

  it('confirms the address by the code, tests it, and turns it off', async () => {
    const { page } = await suite.signedIn('mia@example.com')
    await page.goto('/account')
    await page.getByRole('button', { name: 'Turn on e-mail' }).click()
    await page.getByLabel('Code from the mail', { exact: true }).first().waitFor()
    const code = page.getByRole('textbox', { name: 'Code from the mail' })
    await code.fill('1111 1111')
    await page.getByRole('button', { name: 'Confirm the address' }).click()
    await page.getByText('This code is wrong or has expired').waitFor()
    await code.fill(codeIn(server.mails.at(-1)))
    await page.getByRole('button', { name: 'Confirm the address' }).click()
    await page.getByText('Mails tell you of your pending requests now.').waitFor()
    await page.getByRole('button', { name: 'Send a test by e-mail' }).click()
    await page.getByText('A test is on its way.').waitFor()
    expect(server.mails.at(-1)?.headers.subject).toBe('Notifications work')
    await page.getByRole('button', { name: 'Turn e-mail off' }).click()
    await page.getByRole('button', { name: 'Turn off', exact: true }).last().click()
    await page.getByRole('button', { name: 'Turn on e-mail' }).waitFor()
  })

  it('remembers what each channel tells, and the quiet hours; an owner sets what others hear', async () => {
    const { page, api } = await suite.signedIn('noa@example.com')
    await page.goto('/account')
    const mail = page.getByLabel('By e-mail')
    expect(await mail.isVisible()).toBe(false)
    await page.getByLabel('Choose myself').check()
    await mail.selectOption('digest')
    await page.getByLabel('Quiet hours', { exact: true }).check()
    await page.getByLabel('They begin at').fill('23:00')
    await page.getByLabel('They end at').fill('23:00')
    await page.getByRole('button', { name: 'Save what I am told' }).click()
    await page.getByText('Enter another time than that at which they begin.').waitFor()
    await page.getByLabel('They end at').fill('06:30')
    await page.getByLabel('Time zone of quiet hours').selectOption('Europe/Berlin')
    await page.getByRole('button', { name: 'Save what I am told' }).click()
    await page.getByText('What you are told is saved.').waitFor()
    expect((await api.get('/api/v1/me/notifications')).body).toMatchObject({
      volumes: { chat: 'all', browser: 'all', mail: 'digest' },
      quiet_hours: { from: '23:00', to: '06:30', time_zone: 'Europe/Berlin' },
    })
    expect(await page.getByLabel('By e-mail').inputValue()).toBe('digest')
    await page.goto('/settings')
    await page.getByLabel('Notifications of browsers').selectOption('high_impact')
    await page.getByRole('button', { name: 'Save what people hear' }).click()
    await page.getByText('What people hear is saved.').waitFor()
    expect((await api.get('/api/v1/account')).body.volumes.browser).toBe('high_impact')
  })
})
