import { expect, it } from 'vitest'
import { describeInBrowser, plugIn } from '../support/browser.ts'
import { codeAt } from '../support/enrolled.ts'
import { ask, obtainKey, type Person, readRequest, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('a person’s own account page', () => {
  const suite = useServiceSuite()
  const confirm = async ({ page }: Person): Promise<void> => {
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
  }

  const passkeys = ({ page }: Person) => page.getByRole('region', { name: 'Passkeys' })

  it('adds a second passkey after a step-up, uses it to remove the first, and keeps the last', async () => {
    const person = await suite.enrol('dora@example.com')
    const { page, authenticator } = person
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await confirm(person)
    // Until the form is there the browser may still ask for the first passkey, which does not answer after the next lines.
    const name = page.getByLabel('Name of the new passkey')
    await name.waitFor()
    expect(await name.inputValue()).toBe('Chrome on Linux 2')
    await page.getByText('To keep it on a phone').waitFor()
    await plugIn(authenticator.session, 'usb')
    await authenticator.session.send('WebAuthn.setAutomaticPresenceSimulation', {
      authenticatorId: authenticator.id,
      enabled: false,
    })
    await name.fill('Security key')
    await page.getByRole('button', { name: 'Use a security key' }).click()
    await page.getByText('The new passkey is ready.').waitFor()
    expect(await passkeys(person).locator('.entry-name').count()).toBe(2)

    await page.getByRole('button', { name: 'Remove the passkey Chrome on Linux' }).click()
    await confirm(person)
    await page.getByText('The passkey is removed.').waitFor()
    await authenticator.session.send('WebAuthn.removeVirtualAuthenticator', {
      authenticatorId: authenticator.id,
    })
    expect(await passkeys(person).locator('.entry-name').allInnerTexts()).toEqual(['Security key'])

    await page.getByRole('button', { name: 'Remove the passkey Security key' }).click()
    await page.getByText('This is your last factor; add another one first.').waitFor()
    expect(await passkeys(person).locator('.entry-name').count()).toBe(1)
  })

  it('says that a device already holds a passkey instead of making a second one', async () => {
    const person = await suite.signedIn('eva@example.com')
    await person.page.goto('/account')
    await person.page.getByRole('button', { name: 'Add a passkey' }).click()
    await confirm(person)
    await person.page.getByRole('button', { name: 'Create a passkey on this device' }).click()
    await person.page.getByText('already holds one of your passkeys').waitFor()
    expect(await passkeys(person).locator('.entry-name').count()).toBe(1)
    await person.page.getByRole('button', { name: 'Add a passkey' }).click()
    await confirm(person)
    await person.page.getByLabel('Name of the new passkey').waitFor()
  })

  it('changes nothing when the step-up is cancelled with Escape', async () => {
    const person = await suite.signedIn('fay@example.com')
    await person.page.goto('/account')
    await person.page.getByRole('button', { name: 'Add a passkey' }).click()
    await person.page.getByRole('dialog').waitFor()
    await person.page.keyboard.press('Escape')
    await person.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await person.page.getByRole('button', { name: 'Add a passkey' }).isVisible()).toBe(true)
    expect(await person.page.evaluate('document.activeElement.textContent')).toBe('Add a passkey')
  })

  it('sets up an authenticator app, renews the backup codes and removes it again', async () => {
    const person = await suite.signedIn('gus@example.com')
    await person.page.goto('/account')
    const { page } = person
    const { clock } = suite.service().composition.deps
    const focused = () => page.evaluate('document.activeElement.textContent')
    const setUp = page.getByRole('button', { name: 'Set up an authenticator app' })
    await setUp.click()
    await confirm(person)
    await page.getByRole('heading', { name: 'Add Countersign to the app' }).waitFor()
    await expect.poll(focused).toBe('Add Countersign to the app')
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    expect(await focused()).toBe('Set up an authenticator app')
    await page.setViewportSize({ width: 390, height: 844 })
    await setUp.click()
    await confirm(person)
    const link = page.getByRole('link', { name: 'Open it in an app on this device' })
    const qr = await page.locator('.qr').boundingBox()
    expect((await link.boundingBox())?.y).toBeLessThan(qr?.y ?? 0)
    const secret = (await page.locator('.secret').innerText()).replaceAll(' ', '')
    await page.getByLabel('Code from your authenticator app').fill(codeAt(secret, clock.now()))
    await page.getByRole('button', { name: 'Confirm the code' }).click()
    await page.locator('.backup-codes').waitFor()
    const first = await page.locator('.backup-codes code').allInnerTexts()
    expect(first).toHaveLength(10)
    await page.getByLabel('I saved them').check()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Your authenticator app is set up.').waitFor()

    await page.getByRole('button', { name: 'Renew the backup codes' }).click()
    await confirm(person)
    await page.locator('.backup-codes').waitFor()
    expect(await page.getByRole('region', { name: 'Authenticator app' }).innerText()).toContain(
      'Codes and backup codes sign you in only in browsers where you signed up',
    )
    const renewed = await page.locator('.backup-codes code').allInnerTexts()
    expect(renewed).toHaveLength(10)
    expect(renewed.filter((code) => first.includes(code))).toEqual([])
    await page.getByLabel('I saved them').check()
    await page.getByRole('button', { name: 'Continue' }).click()

    await page.getByRole('button', { name: 'Remove the authenticator app' }).click()
    await confirm(person)
    await page.getByText('The authenticator app is removed.').waitFor()
    expect(await page.getByText('No authenticator app is set up.').isVisible()).toBe(true)
  })

  it('sets in Settings when requests expire, and names the account to whoever invites', async () => {
    const person = await suite.signedIn('ivy@example.com')
    const { page } = person
    const rawKey = await obtainKey(person, 'bot')
    await page.goto('/settings')
    await page.getByLabel('Requests expire after').selectOption('8 hours')
    await page.getByRole('button', { name: 'Save the expiry' }).click()
    await page.getByText('The expiry of new requests is saved.').waitFor()
    const id = await ask(suite.service(), rawKey, { action: 'Restart the mail server' })
    const { created_at, expires_at } = await readRequest(suite.service(), rawKey, id)
    expect(Date.parse(String(expires_at)) - Date.parse(String(created_at))).toBe(8 * 3_600_000)
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('They are invited to ivy. Rename the account').waitFor()
  })

  it('sends whoever is not signed in to the sign-in and back', async () => {
    const person = await suite.signedIn('ida@example.com')
    const rawKey = await obtainKey(person, 'bot')
    const id = await ask(suite.service(), rawKey, { action: 'x' })
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })
    await person.context.clearCookies()
    await person.page.goto('/account')
    await person.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await person.page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await person.page.getByRole('heading', { name: 'Your account' }).waitFor()
  })

  it('says at the sign-in that a passkey is suspended, why, and what to do (T30)', async () => {
    const { page, context, authenticator } = await suite.signedIn('hal@example.com')
    const { session, id: authenticatorId } = authenticator
    const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId })
    await session.send('WebAuthn.clearCredentials', { authenticatorId })
    for (const credential of credentials)
      await session.send('WebAuthn.addCredential', {
        authenticatorId,
        credential: { ...credential, signCount: 0 },
      })
    await context.clearCookies()
    await page.goto('/signin')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'passkey is suspended' })
    await alert.waitFor()
    const said = await alert.innerText()
    for (const part of [
      'because its counter went backwards',
      'Use another passkey or a code',
      'remove',
      'user invite',
    ])
      expect(said).toContain(part)
  })
})
