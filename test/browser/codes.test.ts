import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { codeAt, wrongCodeAt } from '../support/enrolled.ts'
import {
  ask,
  createKey,
  invitationPath,
  type Person,
  readRequest,
  useServiceSuite,
} from '../support/service-suite.ts'

describeInBrowser('an authenticator app instead of a passkey', () => {
  const suite = useServiceSuite()
  const codeNow = (secret: string): string => codeAt(secret, suite.service().composition.deps.clock.now())
  /** Lets the service's clock go on by one step. */
  const goOn = (): void => {
    const { clock } = suite.service().composition.deps
    const { now } = clock
    clock.now = () => new Date(now().getTime() + 30_000)
  }

  /**
   * Enrols with the code of now, which the service also takes when its step has just ended, and goes on to the next one,
   * which is still unused.
   */
  const enrolWithCodes = async (
    email: string,
  ): Promise<{ person: Person; secret: string; backupCodes: string[] }> => {
    const person = await suite.visit()
    const { page } = person
    await page.goto(await invitationPath(suite.service(), email))
    await page.getByRole('button', { name: 'Use an authenticator app' }).click()
    await page.locator('.qr').waitFor()
    const qrWidth: unknown = await page.evaluate(
      `(async () => { const qr = document.querySelector('.qr'); await qr.decode(); return qr.naturalWidth })()`,
    )
    expect(qrWidth).toBeGreaterThan(0)
    expect(await page.locator('.secret').innerText()).toMatch(/^([A-Z2-7]{4} )+[A-Z2-7]{1,4}$/)
    const secret = (await page.locator('.secret').innerText()).replaceAll(' ', '')
    const here = page.getByRole('link', { name: 'Open it in an app on this device' })
    expect(await here.getAttribute('href')).toMatch(new RegExp(`^otpauth://totp/.*secret=${secret}`))
    await page.getByLabel('Code from your authenticator app').fill(codeNow(secret))
    await page.getByRole('button', { name: 'Confirm the code' }).click()
    await page.getByRole('heading', { name: 'Save your backup codes' }).waitFor()
    const backupCodes = await page.locator('.backup-codes code').allInnerTexts()
    expect(await page.getByRole('region', { name: 'Backup codes' }).innerText()).toContain(
      'If you lose the app, each code signs you in once, in a browser where you signed up or set up the app.',
    )
    goOn()
    return { person, secret, backupCodes }
  }
  const finish = async ({ page }: Person): Promise<void> => {
    await page.getByLabel('I saved them').check()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  }

  it('enrols, insists that the backup codes are saved, and decides with the next code', async () => {
    const { person, secret, backupCodes } = await enrolWithCodes('bo@example.com')
    const { page } = person
    expect(backupCodes).toHaveLength(10)
    for (const code of backupCodes) expect(code).toMatch(/^[0-9A-Z]{5}-[0-9A-Z]{5}$/)
    await page.getByRole('button', { name: 'Continue' }).click()
    expect(await page.locator('.notice').innerText()).toContain('Save the codes first')
    await finish(person)

    const rawKey = await createKey(person, 'bot')
    const id = await ask(suite.service(), rawKey, { action: 'Send the newsletter' })
    await page.goto(`/a/${id}?d=approve`)
    const code = page.getByLabel('Code from your authenticator app')
    expect(await code.getAttribute('inputmode')).toBe('numeric')
    expect(await code.getAttribute('autocomplete')).toBe('one-time-code')
    await page.getByRole('button', { name: 'Approve' }).click()
    expect(await page.locator('.field-error').allInnerTexts()).toContain(
      'Enter the 6 digits that your authenticator app shows.',
    )

    await code.fill(wrongCodeAt(secret, suite.service().composition.deps.clock.now()))
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The code is wrong or was already used').waitFor()
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })

    await code.fill(codeNow(secret))
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({
      status: 'approved',
      decision: { method: 'totp' },
    })
  })

  it('signs in with a code on the enrolled browser only, and with each backup code once', async () => {
    const { person, secret, backupCodes } = await enrolWithCodes('cy@example.com')
    await finish(person)
    const signIn = async ({ page }: Person, code: string): Promise<void> => {
      await page.goto('/signin')
      await page.getByText('Use a code instead').click()
      await page.getByLabel('E-mail').fill('cy@example.com')
      await page.getByLabel('Code', { exact: true }).fill(code)
      await page.getByRole('button', { name: 'Sign in with the code' }).click()
    }
    const signOut = async ({ page }: Person): Promise<void> => {
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }
    await signOut(person)
    await signIn(person, codeNow(secret))
    await person.page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await signOut(person)
    const backup = backupCodes[0] ?? ''
    await signIn(person, backup)
    await person.page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await person.page.getByRole('link', { name: 'Account' }).click()
    await person.page.getByText('9 of 10').waitFor()
    await person.page.getByRole('link', { name: 'Members' }).click()
    await person.page.getByText('Codes from an authenticator app; no passkey').waitFor()
    await signOut(person)
    await signIn(person, backup)
    await person.page.getByText('Signing in failed; check your input and try again.').waitFor()

    const stranger = await suite.visit()
    await signIn(stranger, backupCodes[1] ?? '')
    await stranger.page
      .locator('form')
      .getByText(
        'Codes sign you in only in a browser where you signed up before. Use a passkey, or ask the owner who invited you, or the operator of this service, for a new sign-in link.',
      )
      .waitFor()
  })
})
