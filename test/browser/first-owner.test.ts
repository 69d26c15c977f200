import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { parseJwks } from '../../src/signing/keys.ts'
import { verifyBundle } from '../../src/signing/verify-bundle.ts'
import { axeViolations, describeInBrowser, stopClock } from '../support/browser.ts'
import { callWithKey } from '../support/live.ts'
import { patienceFor } from '../support/patience.ts'
import { addKey } from '../support/people.ts'
import { ask, readRequest, useServiceSuite } from '../support/service-suite.ts'

/** What the command on the screen asks for. */
const DEPLOY = 'Deploy release 4.2 to production'
/** What the first page of the documents asks for, and what another uses up: who ran the page's copy goes on there. */
const [ASKED, USED] = ['README.md', 'docs/agents.md'].map(
  (path) => /-d '(\{[^']+)'/.exec(readFileSync(packagePath(path), 'utf8'))?.[1],
)

/** What README.md says of the client, in the order of the page. */
const README = readFileSync(packagePath('README.md'), 'utf8')
const CLIENT = [
  ['the commands that install the client', /```sh\n(npm pack --workspace[^`]+)\n```/.exec(README)?.[1]],
  ['the code of an agent', /```ts\n(import \{ countersign \}[\s\S]+?)\n```/.exec(README)?.[1]],
] as const

describeInBrowser('from the set-up link to the first receipt', () => {
  const suite = useServiceSuite()

  it('needs nothing but what the screen says, and ends with a receipt that verifies', async () => {
    const service = suite.service()
    const owner = await suite.visit()
    const { page } = owner
    const setupUrl = service.setupUrl
    if (setupUrl === undefined) throw new Error('a fresh service must print a set-up link')

    await page.goto('/')
    await page
      .getByText(
        'New service? On the server, “countersign user owner-link” prints a sign-in link for the first owner.',
      )
      .waitFor()
    await page.getByText('Lost your device? Ask the owner of your account').waitFor()
    await page.goto(setupUrl)
    await page.getByRole('heading', { name: 'Set up Countersign' }).waitFor()
    expect(page.url()).toBe(`${service.url}/setup`)
    await page.getByLabel('E-mail').fill('ana@example.com')
    await page.getByLabel('Your name').fill('Ana Pereira')
    await page.getByLabel('Organisation (optional)').fill('Acme Payments')
    await page.getByRole('button', { name: 'Create a passkey' }).click()

    await page.getByRole('heading', { name: 'From an API key to a checked receipt, in four steps' }).waitFor()
    expect(page.url()).toBe(`${service.url}/`)
    await page.getByRole('button', { name: 'Create your first API key' }).click()
    const command = await page.locator('pre.command').innerText()
    const rawKey = await page.locator('.secret-box code').innerText()
    expect(rawKey).toMatch(/^sa_live_\w{40,}$/)
    expect(command).toContain(`curl -X POST ${service.url}/api/v1/approvals/request`)
    expect(command).toContain(rawKey)
    expect(/-d '([^']+)'/.exec(command)?.[1]).toBe(ASKED)
    expect(await page.locator('#waiting').innerText()).toContain('You have no pending requests.')
    expect(await axeViolations(page)).toEqual([])

    const guide = page.locator('section:has(> .section-body > .guide)')
    const early = await ask(service, rawKey, { action: 'Try it' })
    const first = guide.getByRole('link', { name: 'Review and approve' })
    await first.waitFor()
    expect((await first.boundingBox())?.y, 'on the first screen of a laptop').toBeLessThan(756)
    expect(await page.locator('.secret-box code').innerText()).toBe(rawKey)
    await callWithKey(service, rawKey, `/${early}/cancel`, {})

    const { deps } = service.composition
    const ana = await deps.users.findByEmail('ana@example.com')
    if (ana === undefined) throw new Error('the owner is not there')
    // What other keys of the account ask, and what is decided for them, is not the guide's.
    const otherKey = (await addKey(service, ana)).raw_key
    const foreign = await ask(service, otherKey, { action: 'Rotate the signing key' })
    await guide.getByText('Make another one').waitFor()
    expect(await page.locator('pre.command').innerText()).toBe(command)
    const dryRun = (await addKey(service, ana, { sandbox: true })).raw_key
    const tried = await callWithKey(service, dryRun, '/request', {
      action: 'Try',
      sandbox_auto_decide_seconds: 0,
    })
    const { request_id } = Object(await tried.json())
    expect(await readRequest(service, dryRun, request_id)).toMatchObject({ status: 'approved' })
    await page.reload()
    await page.getByRole('link', { name: 'Rotate the signing key' }).waitFor()
    await guide.getByText('You have a key.').waitFor()
    expect(await guide.innerText()).not.toMatch(/Rotate|decided/)
    await callWithKey(service, otherKey, `/${foreign}/cancel`, {})
    expect(await page.locator('pre.command').nth(1).innerText()).toContain('Bearer $COUNTERSIGN_KEY"')
    expect(await page.content()).not.toContain(rawKey)
    await stopClock(page)
    const answered = JSON.parse((await promisify(execFile)('sh', ['-c', command])).stdout)
    const id = String(answered.id)
    // As soon as the list has it, not when the guide next looks by itself.
    const review = guide.getByRole('link', { name: 'Review and approve', description: DEPLOY })
    await expect.poll(() => page.clock.runFor(1).then(() => review.isVisible())).toBe(true)
    expect(await page.evaluate('scrollY')).toBe(0)
    expect(await page.locator('pre.command').count(), 'what is done takes no room').toBe(0)
    await guide.getByText('Your request was made.').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    expect((await review.boundingBox())?.y, 'on the first screen of a phone').toBeLessThan(800)
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.clock.resume()
    await page.getByRole('link', { name: DEPLOY }).click()
    await page.getByRole('link', { name: 'Approve…', description: DEPLOY }).click()
    await page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(page.url()).toBe(`${service.url}/a/${id}?d=approve`)
    expect(await page.content()).not.toContain(rawKey)
    await page.getByText('Add a comment').click()
    await page.getByLabel('Comment (optional)').fill('Tests are green.')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    const receiptId = await page.locator('.receipt code.mono').first().innerText()
    expect(receiptId).toMatch(/^dec_\w{26}$/)
    expect(await page.locator('.receipt').innerText()).toContain('Tests are green.')

    const read = await readRequest(service, rawKey, id)
    expect(read).toMatchObject({ status: 'approved', decision: { id: receiptId, method: 'passkey' } })
    const verifyLink = await page.getByRole('link', { name: 'the check as JSON' }).getAttribute('href')
    const verified: unknown = await (await fetch(`${service.url}${verifyLink}`)).json()
    expect(verified).toMatchObject({
      valid: true,
      decision: 'approved',
      payload: { rid: id, did: receiptId },
    })

    await page.getByText('Signed receipt').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the receipt' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('countersign.receipt.json')
    const keys = parseJwks(await (await fetch(`${service.url}/.well-known/jwks.json`)).json())
    const file = await readFile(await download.path(), 'utf8')
    const expected = { rid: id, did: receiptId, decision: 'approved' } as const
    expect(await verifyBundle(file, { keys }, { expected })).toMatchObject({ verdict: 'good' })
    const other = file.replaceAll(id, `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`)
    expect(await verifyBundle(other, { keys })).toMatchObject({
      verdict: 'bad',
      code: 'receipt_signature_invalid',
    })
    await page.getByRole('link', { name: 'Inbox', exact: true }).click()
    await page.getByText('You have no pending requests.').waitFor()
    expect(await page.getByRole('button', { name: 'Create your first API key' }).count()).toBe(0)
    const last = page.locator('.card', { hasText: 'Your request is decided' })
    expect((await last.boundingBox())?.height).toBeLessThan(160)
    const next = page.getByRole('region', { name: 'Next steps' })
    await next.getByText('0 of 6 are done.').waitFor()
    for (const path of ['/account', '/members', '/settings', '/integrations', '/keys'])
      expect(await next.locator(`a[href="${path}"]`).count(), path).toBe(path === '/account' ? 2 : 1)
    await next.getByText('Show the code').click()
    for (const [name, text] of CLIENT)
      expect(
        (await next.getByRole('group', { name }).innerText()).replaceAll(
          service.url,
          'http://localhost:3000',
        ),
      ).toBe(text)
    expect(await page.evaluate('fetch("/api/v1/account").then((answer) => answer.json())')).toMatchObject({
      name: 'Acme Payments',
    })
    const lately = page.getByRole('region', { name: 'Decided lately' })
    expect(await lately.getByRole('row').nth(1).innerText()).toMatch(
      /^Approved\s+Deploy release 4.2 to production\s/,
    )
    expect(await lately.getByRole('row').nth(1).innerText()).toContain('Ana Pereira · Passkey')
    const all = await lately.getByRole('link', { name: 'All requests' }).boundingBox()
    expect((await next.boundingBox())?.y).toBeGreaterThan((all?.y ?? 0) + (all?.height ?? 0) + 8)
    expect(await axeViolations(page)).toEqual([])
    const again = await ask(service, rawKey, { action: 'Deploy version 1.4.3' })
    await page.reload()
    await page.getByRole('link', { name: 'Deploy version 1.4.3' }).waitFor()
    expect(await guide.count(), 'of what is through').toBe(0)
    expect(await last.count()).toBe(1)
    await callWithKey(service, rawKey, `/${again}/cancel`, {})
    await page.getByRole('link', { name: 'Check the receipt' }).click()
    await page.getByRole('heading', { name: 'Ana Pereira’s approval, unchanged' }).waitFor()
    await page.goto('/')
    await page.getByText('You have no pending requests.').waitFor()
    await last.getByRole('button', { name: 'Hide' }).click()
    await page.reload()
    await page.getByText('You have no pending requests.').waitFor()
    expect(await last.count()).toBe(0)
    expect(await lately.getByRole('link', { name: DEPLOY }).getAttribute('href')).toBe(`/a/${id}`)
    const used = await callWithKey(service, rawKey, `/${id}/consume`, JSON.parse(USED ?? ''))
    expect(await used.json()).toMatchObject({ request_id: id, consumed_at: expect.any(String) })
    await page.goto('/overview')
    await next.getByText('1 of 6 are done.').waitFor()
    expect(await next.getByRole('listitem').last().innerText()).toMatch(
      /^Your agent uses an approval\s+Done$/,
    )
    await next.getByRole('button', { name: 'Hide this list' }).click()
    await expect.poll(() => next.count()).toBe(0)
    for (const path of ['/', '/overview']) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await page.evaluate('fetch("/api/v1/me/next-steps").then((answer) => answer.json())')).toEqual({
        hidden: true,
        second_passkey: false,
        told: false,
      })
      expect(await next.count(), path).toBe(0)
    }
    const token = new URL(setupUrl).hash.slice(1)
    expect(JSON.stringify(service.logged)).not.toContain(token)
  })

  it('gives commands that all work as they stand, in the terminal of the first', async () => {
    const { page } = await suite.signedIn('dan@example.com')
    await page.goto('/')
    await page.getByRole('button', { name: 'Create a sandbox key' }).click()
    const run = async (name: string): Promise<unknown> => {
      // The sandbox decides after five seconds, and the page looks again every few.
      const command = await page.getByRole('group', { name }).innerText({ timeout: patienceFor(10_000) })
      return JSON.parse((await promisify(execFile)('sh', ['-c', command])).stdout)
    }
    const asked = await run('the command that makes a request')
    expect(await run('the command that reads the receipt')).toMatchObject({
      id: Object(asked).request_id,
      decision: { id: expect.stringMatching(/^dec_/) },
    })
  })

  it('says that a set-up link works only once', async () => {
    const { page } = await suite.visit()
    await page.goto(suite.service().setupUrl ?? '')
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(await page.locator('main').innerText()).toContain(
      'On the server, “countersign user owner-link” prints a new link.',
    )
    // The theme that was chosen on a page holds at /docs, too.
    const colour = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    for (const [theme, shown] of [
      ['dark', 'rgb(15, 21, 19)'],
      ['light', 'rgb(243, 245, 244)'],
    ]) {
      await page.evaluate(`localStorage.setItem('theme', '${theme}')`)
      await page.emulateMedia({ colorScheme: theme === 'dark' ? 'light' : 'dark' })
      await page.goto('/docs')
      expect(await colour()).toBe(shown)
    }
  })
})
