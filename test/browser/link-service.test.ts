import { expect, it } from 'vitest'
import { type ChatIdentity, identityKey } from '../../src/domain/chat.ts'
import { answerCommand } from '../../src/flow/chat/answer-command.ts'
import { describeInBrowser } from '../support/browser.ts'
import { alter } from '../support/caller.ts'
import { createChatPlatform } from '../support/chat-platform.ts'
import { codeAt } from '../support/enrolled.ts'
import { type Person, useServiceSuite } from '../support/service-suite.ts'

describeInBrowser('from a command in chat to the page and back', () => {
  const suite = useServiceSuite({ chats: [createChatPlatform()] })
  const deps = () => suite.service().composition.deps

  /** Says a command in the channel, and takes the link out of the answer. */
  const linkFor = async (user: string, command: 'link' | 'browser' | 'channel'): Promise<string> => {
    const answer = await answerCommand(deps(), speaker(user), command)
    if (answer.kind !== 'link') throw new Error(`no link: ${JSON.stringify(answer)}`)
    expect(answer.url.startsWith(`${suite.service().url}/link#`)).toBe(true)
    return answer.url
  }
  const holderOf = async (user: string): Promise<string | undefined> =>
    (await deps().users.findByIdentity(identityKey(identityOf(user))))?.email
  const open = async ({ page }: Person, url: string): Promise<void> => {
    await page.goto('about:blank')
    await page.goto(url)
    await page.locator('h1').waitFor()
  }
  const confirm = async ({ page }: Person, button = 'Confirm and link'): Promise<void> => {
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
  }
  const link = async (person: Person, user: string): Promise<void> => {
    await open(person, await linkFor(user, 'link'))
    await confirm(person)
    await person.page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
  }

  it('links with a passkey, shows it on the account page, unlinks, and the link works only once', async () => {
    const person = await suite.signedIn('ana@example.com')
    const { page } = person
    const url = await linkFor('U1', 'link')
    await open(person, url)
    expect(await page.locator('h1').innerText()).toBe(
      'Link user U1 in the Slack workspace Example Ltd to ana, ana@example.com?',
    )
    await confirm(person)
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(await holderOf('U1')).toBe('ana@example.com')

    await open(person, url)
    expect(await page.locator('h1').innerText()).toBe('This link no longer works')
    expect(JSON.stringify(suite.service().logged)).not.toContain(new URL(url).hash.slice(1))

    await page.locator('main').getByRole('link', { name: 'Your account' }).click()
    await page.getByRole('button', { name: 'Unlink user U1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await page.getByText('The chat account is unlinked.').waitFor()
    expect(await holderOf('U1')).toBeUndefined()
  })

  it('signs in on the way, and cancelling or signing in uses nothing up', async () => {
    const person = await suite.signedIn('bo@example.com')
    const { page, context } = person
    await context.clearCookies()
    await open(person, await linkFor('U2', 'link'))
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('heading', { name: /^Link user U2/ }).waitFor()
    await page.getByRole('button', { name: 'Confirm and link' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await holderOf('U2')).toBeUndefined()
    await confirm(person)
    await page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    expect(await holderOf('U2')).toBe('bo@example.com')
  })

  it('does not give an identity that somebody has to somebody else', async () => {
    const first = await suite.signedIn('cy@example.com')
    const second = await suite.signedIn('dora@example.com')
    const url = await linkFor('U3', 'link')
    await open(first, url)
    await open(second, url)
    await confirm(first)
    await first.page.getByRole('heading', { name: 'Your chat account is linked' }).waitFor()
    await second.page.getByRole('button', { name: 'Confirm and link' }).click()
    await second.page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
    expect(await holderOf('U3')).toBe('cy@example.com')
  })

  it('has a channel told, for the person who asked alone, and removes it', async () => {
    const owner = await suite.signedIn('eva@example.com')
    const other = await suite.signedIn('fay@example.com')
    await link(owner, 'U4')
    const url = await linkFor('U4', 'channel')
    await open(other, url)
    await other.page.getByRole('button', { name: 'Confirm and notify the channel' }).click()
    await other.page.getByRole('heading', { name: 'Someone else asked for this link' }).waitFor()

    const { page } = owner
    await open(owner, url)
    expect(await page.locator('h1').innerText()).toContain(
      'Notify the channel #deploys of the Slack workspace',
    )
    await confirm(owner, 'Confirm and notify the channel')
    await page.getByRole('heading', { name: 'The channel will be notified' }).waitFor()
    await page.getByRole('link', { name: 'Go to your integrations' }).click()
    await page.getByRole('button', { name: 'Remove #deploys' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('The channel is removed.').waitFor()
    expect(await page.getByRole('button', { name: 'Remove #deploys' }).count()).toBe(0)
  })

  it('makes a browser known, on which a code then signs in (T15)', async () => {
    const person = await suite.signedIn('gus@example.com')
    const { page } = person
    await link(person, 'U5')
    const secret = await setUpCodes(person, 'gus@example.com')
    const stranger = await suite.visit()
    const signIn = async (): Promise<void> => {
      await stranger.page.getByLabel('E-mail').fill('gus@example.com')
      await stranger.page.getByLabel('Code', { exact: true }).fill(codeAt(secret, deps().clock.now()))
      await stranger.page.getByRole('button', { name: 'Sign in with the code' }).click()
    }
    await stranger.page.goto('/signin')
    await stranger.page.getByText('Use a code instead').click()
    await signIn()
    await stranger.page.getByText('Codes sign you in only in a browser where you signed up before').waitFor()

    await open(stranger, await linkFor('U5', 'browser'))
    await stranger.page.getByRole('button', { name: 'Trust this browser' }).click()
    await stranger.page.getByRole('heading', { name: 'This browser is trusted now' }).waitFor()
    await signIn()
    await stranger.page.getByRole('heading', { name: 'Inbox' }).waitFor()
    expect(await stranger.page.locator('#signed-in').innerText()).toContain('gus@example.com')
    expect(await page.locator('#signed-in').innerText()).toContain('gus@example.com')
  })

  /** As if they were set up long ago: the code of this step is still unused. */
  const setUpCodes = async ({ page }: Person, email: string): Promise<string> => {
    await page.goto('/account')
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click()
    const secret = (await page.locator('.secret').innerText()).replaceAll(' ', '')
    await page.getByLabel('Code from your authenticator app').fill(codeAt(secret, deps().clock.now()))
    await page.getByRole('button', { name: 'Confirm the code' }).click()
    await page.locator('.backup-codes').waitFor()
    const user = await deps().users.findByEmail(email)
    await alter(suite.service(), 'users', String(user?.id), { 'totp.last_step': 0 })
    return secret
  }
})

function identityOf(user: string): ChatIdentity {
  return { platform: 'slack', tenant: 'T1', user }
}

function speaker(user: string): Parameters<typeof answerCommand>[1] {
  return {
    identity: identityOf(user),
    shown_as: { person: `user ${user}`, workspace: 'Example Ltd', channel: 'deploys' },
    channel: { platform: 'slack', tenant: 'T1', channel: 'C1' },
  }
}
