import { expect, it } from 'vitest'
import { describeInBrowser } from '../support/browser.ts'
import { assertWith, enrolWithPasskey, expectStatus } from '../support/enrolled.ts'
import { ask, obtainKey, readRequest, type SignedIn, useServiceSuite } from '../support/service-suite.ts'

const ACTION = 'Pay 1 200 EUR to Example Ltd'

describeInBrowser('deciding in a browser', () => {
  const suite = useServiceSuite()
  let keys = 0
  const ownerWithRequest = async (
    body: object = {},
  ): Promise<{ owner: SignedIn; rawKey: string; id: string }> => {
    keys += 1
    const owner = await suite.signedIn(`owner${keys}@example.com`)
    const rawKey = await obtainKey(owner, 'shop')
    return { owner, rawKey, id: await ask(suite.service(), rawKey, { action: ACTION, ...body }) }
  }

  it('rejects with a passkey', async () => {
    const { owner, rawKey, id } = await ownerWithRequest()
    await owner.page.goto(`/a/${id}?d=reject`)
    const reason = (name: string) => owner.page.getByRole('button', { name, exact: true })
    for (const name of ['Not allowed', 'Not now', 'Not now', 'Not now']) await reason(name).click()
    expect(await reason('Not allowed').getAttribute('aria-pressed')).toBe('false')
    expect(await reason('Not now').getAttribute('aria-pressed')).toBe('true')
    await owner.page.getByText('Add a comment').click()
    await owner.page.getByLabel('Comment (optional)').fill('After the audit.')
    await owner.page.getByRole('button', { name: 'Reject', exact: true }).click()
    await owner.page.getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({
      status: 'rejected',
      decision: { decision: 'rejected', method: 'passkey', comment: 'Not now: After the audit.' },
    })
  })

  it('shows nothing before sign-in, and no number of visits changes anything (T12, T13)', async () => {
    const { rawKey, id } = await ownerWithRequest()
    const { url } = suite.service()
    for (const agent of ['Slackbot-LinkExpanding 1.0', 'Mozilla/5.0 (compatible; bingbot/2.0)']) {
      for (const method of ['GET', 'HEAD']) {
        const visits = Array.from({ length: 25 }, () =>
          fetch(`${url}/a/${id}?d=approve`, { method, headers: { 'User-Agent': agent } }),
        )
        for (const response of await Promise.all(visits)) {
          expect(response.status).toBe(200)
          expect(await response.text()).not.toContain('1 200')
        }
      }
    }
    const stranger = await suite.visit()
    await stranger.page.goto(`/a/${id}?d=approve`)
    await stranger.page.getByRole('heading', { name: 'Sign in to see this request' }).waitFor()
    const text = await stranger.page.locator('body').innerText()
    for (const secret of [ACTION, 'shop', id]) expect(text).not.toContain(secret)
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })
  })

  it('goes on to the request after signing in on it', async () => {
    const { owner, id } = await ownerWithRequest()
    await owner.page.goto('/account')
    await owner.page.getByRole('button', { name: 'Sign out' }).click()
    await owner.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await owner.page.goto(`/a/${id}?d=approve`)
    await owner.page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await owner.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    expect(await owner.page.locator('.action').innerText()).toBe(ACTION)
  })

  it('never acts by itself: the link only chooses the button that stands out', async () => {
    const { owner, rawKey, id } = await ownerWithRequest()
    await owner.page.goto(`/a/${id}?d=approve`)
    await owner.page.getByRole('button', { name: 'Approve' }).waitFor()
    await owner.page.waitForLoadState('networkidle')
    expect(await owner.page.locator('.wanted-approved').count()).toBe(1)
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })
  })

  it('shows a request only to its approver, and refuses everybody else (T20)', async () => {
    const { rawKey, id } = await ownerWithRequest()
    const other = await suite.signedIn(`other${keys}@example.com`)
    await other.page.goto(`/a/${id}?d=approve`)
    await other.page.getByRole('heading', { name: 'Request not available' }).waitFor()
    expect(await other.page.locator('main').innerText()).not.toContain(ACTION)
    const inbox = other.page.locator('main').getByRole('link', { name: 'Your inbox' })
    expect(await inbox.getAttribute('href')).toBe('/')
    const direct = await other.page.evaluate(`fetch('/api/v1/approvals/${id}/decision/options', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"decision":"approved"}',
    }).then((response) => response.status)`)
    expect(direct).toBe(404)
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })
  })

  it('cannot be decided with the passkey of another person, not even from the session of the approver (T20)', async () => {
    const { owner, rawKey, id } = await ownerWithRequest()
    const thief = await suite.signedIn(`thief${keys}@example.com`)
    await thief.context.clearCookies()
    await thief.context.addCookies(await owner.context.cookies())
    await thief.page.goto(`/a/${id}?d=approve`)
    await thief.page.getByRole('button', { name: 'Approve' }).click()
    await thief.page.getByText('none of your passkeys is on this device').waitFor()
    expect(await readRequest(suite.service(), rawKey, id)).toMatchObject({ status: 'pending' })
  })

  it('shows at once what somebody decided elsewhere', async () => {
    const service = suite.service()
    const person = await enrolWithPasskey(service, 'elsewhere@example.com')
    const key = expectStatus(await person.browser.post('/api/v1/account/api-keys', { name: 'bot' }), 201)
    const id = await ask(service, key.raw_key, { action: ACTION })
    const visitor = await suite.visit()
    await visitor.context.addCookies(
      [...person.browser.cookies].map(([name, value]) => ({ name, value, url: service.url })),
    )
    await visitor.page.goto(`/a/${id}`)
    await visitor.page.getByRole('heading', { name: 'Approve or reject this action?' }).waitFor()
    const path = `/api/v1/approvals/${id}/decision`
    const { options } = expectStatus(
      await person.browser.post(`${path}/options`, { decision: 'rejected' }),
      200,
    )
    const passkey = assertWith(person, service, options)
    expectStatus(
      await person.browser.post(path, { decision: 'rejected', comment: 'From my phone.', passkey }),
      200,
    )
    await visitor.page.getByRole('heading', { name: 'Rejected', exact: true }).waitFor()
    expect(await visitor.page.locator('#announcements').innerText()).toBe('Rejected.')
    expect(await visitor.page.locator('.receipt').innerText()).toMatch(
      /Comment \(not signed\)\s+From my phone\./,
    )
    expect(await visitor.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  })
})
