import { afterAll, beforeAll, expect, it } from 'vitest'
import { axeViolations, describeInBrowser, FULL_BROWSER, overflow } from '../support/browser.ts'
import { stored } from '../support/caller.ts'
import { type FakeBrowser, type PushService, startPushService } from '../support/push-service.ts'
import { ask, obtainKey, type Person, type SignedIn, useServiceSuite } from '../support/service-suite.ts'

/**
 * Chromium subscribes with Google's service alone, which tests do not call: the page gets a real subscription of ours
 * instead. Everything else is the real thing: the worker, the service, the encryption.
 */
async function lendSubscription({ context }: Person, browser: FakeBrowser): Promise<void> {
  await context.addInitScript(`{
    const subscription = ${JSON.stringify(browser.subscription)}
    PushManager.prototype.subscribe = async function (options) {
      window.subscribedWith = options
      return { toJSON: () => subscription }
    }
  }`)
}

/** Counts in the worker what it has shown; answers how many that are. */
const COUNT_SHOWN = `(() => {
  if (self.shownSoFar === undefined) {
    self.shownSoFar = 0
    const show = self.registration.showNotification.bind(self.registration)
    self.registration.showNotification = async (...all) => {
      await show(...all)
      self.shownSoFar += 1
    }
  }
  return self.shownSoFar
})()`

/**
 * Hands a message to the worker as the browser does when one comes, and waits until it is shown. Nobody may ask for the
 * notifications before: Chromium takes one that is noted and not yet displayed for closed, and forgets it.
 */
async function deliver(person: Person, origin: string, data: string): Promise<void> {
  const [worker] = person.context.serviceWorkers()
  if (worker === undefined) throw new Error('no service worker')
  const before = Number(await worker.evaluate(COUNT_SHOWN))
  const session = await person.context.newCDPSession(person.page)
  const registration = new Promise<string>((found) => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [first] = registrations
      if (first !== undefined) found(first.registrationId)
    })
  })
  await session.send('ServiceWorker.enable')
  await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId: await registration, data })
  await expect.poll(() => worker.evaluate('self.shownSoFar')).toBe(before + 1)
  await session.detach()
}

/** What the browser shows now. */
const shown = ({ page }: Person): Promise<{ title: string; body: string; tag: string; data: unknown }[]> =>
  page.evaluate(`navigator.serviceWorker.ready
    .then((registration) => registration.getNotifications())
    .then((all) => all.map(({ title, body, tag, data }) => ({ title, body, tag, data })))`)

/** Clicks a notification: the worker gets the event, and tells which window it would have opened. */
async function click({ context }: Person, tag: string): Promise<unknown> {
  const [worker] = context.serviceWorkers()
  return worker?.evaluate(`(async () => {
    let opened
    self.clients.openWindow = async (url) => void (opened = url)
    const [notification] = await self.registration.getNotifications({ tag: ${JSON.stringify(tag)} })
    const event = new NotificationEvent('notificationclick', { notification })
    const waits = []
    event.waitUntil = (work) => void waits.push(work)
    self.dispatchEvent(event)
    await Promise.all(waits)
    return { opened }
  })()`)
}

describeInBrowser('notifications on this device', notifications, FULL_BROWSER)

function notifications(): void {
  let push: PushService
  beforeAll(async () => {
    push = await startPushService()
  })
  afterAll(() => push.close())
  const suite = useServiceSuite({ work: true, env: { CALLBACK_ALLOW_PRIVATE: '1' } }, FULL_BROWSER)
  const part = ({ page }: Person) => page.getByRole('region', { name: 'Notifications on this device' })

  /** Else a browser that is registered a moment later is still told that its person enrolled. */
  async function expectAllTold(): Promise<void> {
    const users = stored(suite.service(), 'users')
    await expect.poll(() => users.countDocuments({ outbox_token: { $gt: '' } })).toBe(0)
  }

  const forgetProofs = () =>
    stored(suite.service(), 'sessions').updateMany({}, { $unset: { proven_at: 1, proven_by: 1 } })

  async function turnedOn(email: string): Promise<{ person: SignedIn; browser: FakeBrowser }> {
    const person = await suite.signedIn(email)
    await expectAllTold()
    const { url } = suite.service()
    await person.context.grantPermissions(['notifications'], { origin: url })
    const browser = push.subscribe(suite.service().composition.deps.pushKey.current().public_key)
    await lendSubscription(person, browser)
    await person.page.goto('/account')
    await part(person).getByRole('button', { name: 'Turn on notifications' }).click()
    await part(person).getByText('Notifications are on in this browser.').waitFor()
    return { person, browser }
  }

  it('are turned on by a click, listed, tried and removed', async () => {
    const { person, browser } = await turnedOn('push@example.com')
    const { page } = person
    const options: unknown = await page.evaluate('window.subscribedWith ?? null')
    const { public_key: applicationServerKey } = suite.service().composition.deps.pushKey.current()
    expect(options).toEqual({ userVisibleOnly: true, applicationServerKey })
    const row = part(person).locator('.entry')
    expect((await row.innerText()).replace(/\s+/g, ' ')).toMatch(
      /^Chrome on Linux ?This browser since .* · nothing sent yet Send a test Remove$/,
    )
    await part(person).getByRole('button', { name: 'Send a test to Chrome on Linux' }).click()
    await part(person).getByText('A test is on its way to Chrome on Linux.').waitFor()
    expect(browser.messages.map(({ payload }) => payload.title)).toEqual(['Notifications work'])
    expect(push.problems).toEqual([])
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    expect(await overflow(page)).toBe(0)
    await part(person).getByRole('button', { name: 'Remove Chrome on Linux' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click()
    await part(person).getByRole('button', { name: 'Turn on notifications' }).waitFor()
    expect(await part(person).locator('.entry').count()).toBe(0)
  })

  it('ask for a passkey or code first where the last one is long ago', async () => {
    const { person, browser } = await turnedOn('again@example.com')
    const { page, context } = person
    await forgetProofs()
    const [worker] = context.serviceWorkers()
    // The push service gave another address while no page was open.
    await worker?.evaluate(`(async () => {
      const newSubscription = { toJSON: () => (${JSON.stringify(browser.subscription)}) }
      const event = Object.assign(new ExtendableEvent('pushsubscriptionchange'), { newSubscription })
      const waits = []
      event.waitUntil = (work) => void waits.push(work)
      self.dispatchEvent(event)
      await Promise.all(waits)
    })()`)
    await expect
      .poll(() => shown(person))
      .toMatchObject([{ title: 'Notifications stopped', data: { url: '/account' } }])
    await part(person).getByRole('button', { name: 'Remove Chrome on Linux' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    for (const answer of ['Cancel', 'Confirm with a passkey']) {
      await part(person).getByRole('button', { name: 'Turn on notifications' }).click()
      await dialog.getByText('Confirm that Chrome on Linux is to show your requests.').waitFor()
      await dialog.getByRole('button', { name: answer }).click()
      await dialog.waitFor({ state: 'hidden' })
    }
    await part(person).getByText('Notifications are on in this browser.').waitFor()
  })

  it('show a request that waits, and a click opens its page, where it is decided', async () => {
    const { person, browser } = await turnedOn('shown@example.com')
    const { url } = suite.service()
    const key = await obtainKey(person, 'Deploy bot')
    await person.page.goto('/account')
    const id = await ask(suite.service(), key, {
      action: 'Deploy build 7 to production',
      requires_individual_decision: true,
    })
    await push.until('the push came', () => browser.messages.some(({ payload }) => payload.tag === id))
    const message = browser.messages.find(({ payload }) => payload.tag === id)
    await deliver(person, url, JSON.stringify(message?.payload))
    expect(await shown(person)).toMatchObject([
      {
        title: 'High impact: a request waits for your decision',
        body: expect.stringMatching(/^Deploy build 7 to production\nRequested by Deploy bot of /),
        tag: id,
      },
    ])
    expect(await click(person, id)).toEqual({ opened: `${url}/a/${id}` })
    await expect.poll(() => shown(person)).toEqual([])
    await person.page.goto(`/a/${id}`)
    await person.page.getByText('Deploy build 7 to production').first().waitFor()
  })

  it('never lead to another host, nor to a page that decides by itself', async () => {
    const { person } = await turnedOn('elsewhere@example.com')
    const { url } = suite.service()
    const payload = { title: 'x', body: 'y' }
    const targets = [
      ['https://evil.example/a', url],
      ['//evil.example/', url],
      ['javascript:alert(1)', url],
      ['\\\\evil.example', url],
      ['/a/req_1?d=approve', `${url}/a/req_1`],
    ] as const
    for (const [n, [target, opened]] of targets.entries()) {
      const tag = `foreign-${n}`
      await deliver(person, url, JSON.stringify({ ...payload, tag, url: target }))
      expect((await shown(person)).map((one) => one.tag)).toContain(tag)
      const clicked = Object(await click(person, tag))
      if (opened === url) expect(new URL(clicked.opened).origin).toBe(url)
      else expect(clicked.opened).toBe(opened)
    }
    await deliver(person, url, 'not JSON')
    expect((await shown(person)).map(({ title }) => title)).toContain('You have pending requests')
  })

  it.each([
    [
      'the permission is refused',
      `Object.defineProperty(Notification, 'permission', { get: () => 'denied' })`,
      'Notifications of this site are blocked in this browser.',
    ],
    [
      'a person has codes only on an iPhone, whose app is another browser',
      `delete window.PushManager; Object.defineProperty(navigator, 'userAgent', { value: 'iPhone' })`,
      'Do you have only codes? Add a passkey first',
    ],
  ])('say what to do when %s', async (_, script, words) => {
    const person = await suite.signedIn(`said-${words.length}@example.com`)
    await person.context.addInitScript(script)
    await person.page.goto('/account')
    await part(person).getByText(words).waitFor()
    expect(await part(person).getByRole('button').count()).toBe(0)
  })

  it('say in words of ours that the browser could not turn them on', async () => {
    const person = await suite.signedIn('unreached@example.com')
    await person.context.grantPermissions(['notifications'], { origin: suite.service().url })
    await person.context.addInitScript(`PushManager.prototype.subscribe = async () => {
      throw new DOMException('Registration failed - push service error', 'AbortError')
    }`)
    await person.page.goto('/account')
    await part(person).getByRole('button', { name: 'Turn on notifications' }).click()
    await part(person).getByText('Something went wrong in this page.').waitFor()
    expect(await part(person).innerText()).not.toContain('Registration failed')
  })

  it.each(['a browser with notifications', 'an app on the home screen without them'])(
    'a lost network shows %s a page that says so, as strict, and the page comes back by itself',
    async (which) => {
      const app = which.startsWith('an app')
      const { person } = app
        ? { person: await suite.signedIn('app@example.com') }
        : await turnedOn('offline@example.com')
      const { page, context, incidents } = person
      if (app) {
        await context.addInitScript(`{
          const ask = window.matchMedia.bind(window)
          window.matchMedia = (query) => query === '(display-mode: standalone)' ? { matches: true } : ask(query)
        }`)
        await page.goto('/account')
      }
      await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true)
      await context.setOffline(true)
      const answer = await page.reload()
      await page.getByRole('heading', { name: 'Not connected' }).waitFor()
      expect(answer?.status()).toBe(503)
      expect(await answer?.headerValue('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'sha256-/,
      )
      await context.setOffline(false)
      await page.getByRole('heading', { name: 'Your account' }).waitFor()
      expect(incidents).toEqual([])
      expect(await page.evaluate('caches.keys()')).toEqual([])
    },
  )

  it('a page in a tab, without notifications, leaves the lost network to the browser', async () => {
    const { page, context } = await suite.signedIn('tab@example.com')
    await page.goto('/account')
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    expect(
      await page.evaluate('navigator.serviceWorker.getRegistrations().then(({ length }) => length)'),
    ).toBe(0)
    await context.setOffline(true)
    await expect(page.reload()).rejects.toThrow('ERR_INTERNET_DISCONNECTED')
    await context.setOffline(false)
    await page.reload()
  })

  it('a phone finds icons for its home screen', async () => {
    const { url } = suite.service()
    const { icons, theme_color } = Object(await (await fetch(`${url}/manifest.webmanifest`)).json())
    expect(theme_color).toBe('#0f5c46')
    expect(icons.map(({ sizes, purpose }: Record<string, string>) => `${sizes} ${purpose}`)).toEqual([
      '192x192 any',
      '192x192 maskable',
      '512x512 any',
      '512x512 maskable',
    ])
    for (const { src, sizes } of icons) {
      const icon = await fetch(`${url}${src}`)
      expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/png'])
      const png = Buffer.from(await icon.arrayBuffer())
      expect(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`).toBe(sizes)
    }
    const [, touch = ''] =
      /<link rel="apple-touch-icon" href="([^"]+)"/.exec(await (await fetch(`${url}/`)).text()) ?? []
    expect(icons.map(({ src }: { src: string }) => src)).toContain(touch)
    expect((await fetch(`${url}/icons/..%2Findex.html`)).status).toBe(404)
  })

  it('the worker is one file without a hash, always asked for, under the rules of every answer', async () => {
    const answer = await fetch(`${suite.service().url}/sw.js`)
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-cache',
      'service-worker-allowed': '/',
      'content-security-policy': expect.stringContaining("trusted-types 'none'"),
    })
    expect(await answer.text()).not.toMatch(/\bimport\b/)
    const page = await fetch(`${suite.service().url}/account`)
    expect(page.headers.get('content-security-policy')).toContain(
      "require-trusted-types-for 'script';trusted-types service-worker;manifest-src 'self'",
    )
    const hosted = await fetch(`${suite.service().url}/signin`)
    expect(hosted.headers.get('content-security-policy')).toMatch(/trusted-types 'none'$/)
  })
}
