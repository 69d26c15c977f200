import { expect, it } from 'vitest'
import { axeViolations, describeInBrowser, overflow } from '../support/browser.ts'
import { samplePending, sampleReview } from '../support/page-samples.ts'
import { lookAtScenes, type PageScene } from '../support/page-scenes.ts'
import { usePageSuite } from '../support/page-suite.ts'

const REQUEST = `/a/${sampleReview().id}`
const DEEP = JSON.parse(`${'{"a":'.repeat(15)}"${'unbroken'.repeat(40)}"${'}'.repeat(15)}`)

const SCENES: Record<string, PageScene<undefined>> = {
  'request to decide': { path: `${REQUEST}?d=approve`, ready: '.decision-form' },
  'request with hostile text': {
    prepare: (_, state) => {
      const hostile = {
        'Agent\u200b': 'x',
        deep: DEEP,
        reason: 'word '.repeat(400),
        note: 'p\u0430ypal\u202e',
      }
      state.review = sampleReview({ action: `a\u202eb${'x'.repeat(400)}`, high_impact: false }, hostile)
    },
    path: REQUEST,
    ready: '.caller-box',
    act: (page) => page.getByText('Exact text of the details').click(),
  },
  receipt: {
    path: REQUEST,
    ready: '.decision-form',
    act: async (page) => {
      await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
      await page.getByLabel('Code from your authenticator app').fill('123456')
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Signed receipt').click()
    },
  },
  'refused code': {
    path: REQUEST,
    ready: '.decision-form',
    act: async (page) => {
      await page.getByRole('radio', { name: 'Code from an authenticator app' }).check()
      await page.getByRole('button', { name: 'Reject' }).click()
      await page.getByText('Enter the 6 digits').waitFor()
    },
  },
  'expired request': {
    prepare: (_, state) => {
      state.review = sampleReview({ status: 'expired', may_decide: false })
    },
    path: REQUEST,
    ready: '.settled',
  },
  'safety stop': {
    prepare: (_, state) => {
      state.review = sampleReview({ context_sha256: 'b'.repeat(64) })
    },
    path: REQUEST,
    ready: '.notice.error',
  },
  'sign-in': {
    prepare: (_, state) => {
      state.signedIn = false
    },
    path: '/signin',
    ready: '.card',
    act: (page) => page.getByText('Use a code instead').click(),
  },
  'set-up': { path: '/setup#good-token', ready: '.choice' },
  'dead link': { path: '/enroll#bad-token', ready: '.notice.error' },
  'incomplete link': {
    prepare: (_, state) => {
      state.signedIn = false
    },
    path: '/setup',
    ready: '.notice.info',
  },
  'reload after enrolling': { path: '/enroll', ready: 'main a[href="/account"]' },
  'sign-in while the passkey is asked': {
    prepare: (_, state) => {
      state.signedIn = false
    },
    path: '/signin',
    ready: '.card',
    act: async (page) => {
      // With an authenticator to ask that never answers: without any, the browser refuses at once.
      await (await page.context().newCDPSession(page)).send('WebAuthn.enable')
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByText('your browser asks for your passkey now').waitFor()
    },
  },
  'authenticator set-up': {
    path: '/setup#good-token',
    ready: '.choice',
    act: async (page) => {
      await page.getByLabel('E-mail').fill('ana@example.com')
      await page.getByLabel('Your name').fill('Ana')
      await page.getByRole('button', { name: 'Use an authenticator app' }).click()
      await page.locator('.qr').waitFor()
    },
  },
  account: { path: '/account', ready: '.entries' },
  inbox: { path: '/', ready: '.inbox-row' },
  'inbox with hostile requests waiting': {
    prepare: (_, state) => {
      state.pending = [
        samplePending({ action: `a\u202eb${'x'.repeat(400)}` }),
        samplePending({ id: 'req_2', high_impact: false, action: 'word '.repeat(400) }),
      ]
    },
    path: '/',
    ready: '.inbox-row',
  },
  'inbox with nothing waiting, and invitations': {
    prepare: (_, state) => {
      state.pending = []
      state.invitations = [
        {
          account_id: 'acc_2',
          account_name: `Example ${'W'.repeat(60)}`,
          role: 'auditor',
          invited_at: '2026-11-20T11:00:00.000Z',
        },
      ]
    },
    path: '/',
    ready: '.entries',
  },
  'step-up dialog': {
    path: '/account',
    ready: '.entries',
    act: async (page) => {
      await page.getByRole('button', { name: 'Renew the backup codes' }).click()
      await page.getByText('Use a code instead').click()
    },
  },
  'backup codes': {
    path: '/account',
    ready: '.entries',
    act: async (page) => {
      await page.getByRole('button', { name: 'Renew the backup codes' }).click()
      await page.getByText('Use a code instead').click()
      await page.getByLabel('Code from your authenticator app').fill('123456')
      await page.getByRole('button', { name: 'Confirm with the code' }).click()
      await page.locator('.backup-codes').waitFor()
    },
  },
  'first run': {
    prepare: (_, state) => {
      state.keys = []
    },
    path: '/',
    ready: '.guide',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create your first API key' }).click()
      await page.locator('.command').waitFor()
    },
  },
  'account of several that may be looked at': {
    prepare: (_, state) => {
      state.accounts = [
        { id: 'acc_2', name: 'Example Ltd, Department of very long names', role: 'auditor', own: false },
        { id: 'acc_1', name: 'Ana Pereira', role: 'owner', own: true },
      ]
    },
    path: '/account',
    ready: '.entries',
  },
  'page that the role does not open': {
    prepare: (_, state) => {
      state.accounts = [{ id: 'acc_2', name: `Example ${'W'.repeat(60)}`, role: 'auditor', own: false }]
    },
    path: '/members',
    ready: 'h1',
  },
}

describeInBrowser('every page for everybody', () => {
  const suite = usePageSuite()

  lookAtScenes(suite, { area: undefined, name: 'page', path: '/' }, SCENES)

  it('axe itself works: it finds a button without a name', async () => {
    const { page } = await suite.visit()
    await page.goto('/account')
    await page.locator('.entries').first().waitFor()
    await page.evaluate(`document.querySelector('main').append(document.createElement('button'))`)
    expect((await axeViolations(page)).join()).toContain('button-name')
  })

  it.each([
    ['/', '.inbox-row', '.inbox-open[aria-current]::after', '.inbox-open:not([aria-current])::after'],
    ['/account', '.entries', '.site-nav [aria-current]', '.site-nav a:not([aria-current])'],
    [`${REQUEST}?d=approve`, '.decision-form', '.approve', '.reject'],
    ['/setup#good-token', '.choice', '.button.primary', '.button.plain'],
    ['/b/bst_7h3k9m2p5q8r1s4t6v0w2x5y8z', '.decision-form', ':is(input, textarea):focus', '.caller-box'],
    ['/verify', '.verify-entry', ':is(input, textarea):focus', '.button.plain'],
  ])(
    '%s keeps its marks in forced colours, and fits at 200 and 400 %%',
    async (path, ready, marked, other) => {
      suite.server().state.review = sampleReview({ high_impact: false })
      suite.server().state.pending = [samplePending(), samplePending({ id: 'req_2', high_impact: false })]
      const { page } = await suite.visit({ viewport: { width: 1280, height: 900 } })
      await page.emulateMedia({ forcedColors: 'active' })
      await page.goto(path)
      await page.locator(ready).first().waitFor()
      // With the keyboard, as whoever needs these colours often does.
      await page.keyboard.press('Tab')
      if (marked.includes('focus')) await page.locator('main :is(.input, textarea):visible').first().focus()
      const drawn = (selector: string): Promise<unknown> =>
        page.evaluate(`((selector) => {
        const [of, pseudo] = selector.split('::')
        const { borderBottom, borderLeft, outline } = getComputedStyle(document.querySelector(of), pseudo && '::' + pseudo)
        return [borderBottom, borderLeft, outline]
      })(${JSON.stringify(selector)})`)
      expect(await drawn(marked)).not.toEqual(await drawn(other))
      for (const width of [640, 320]) {
        await page.setViewportSize({ width, height: Math.round((width * 900) / 1280) })
        expect(await overflow(page), `${width} px`).toBeLessThanOrEqual(0)
      }
      const head = await page.locator('.site-header').boundingBox()
      expect(head?.height, 'one line').toBeLessThan(64)
      const moving = `[...document.querySelectorAll('*')].filter((one) => {
      one.classList.add('fresh')
      const { transitionDuration, animationName } = getComputedStyle(one)
      return transitionDuration !== '0s' || animationName === 'slide-in'
    }).length`
      expect(await page.evaluate(moving), 'reduced motion').toBe(0)
    },
  )

  it('can be approved with the keyboard alone', async () => {
    const { page } = await suite.visit({ viewport: { width: 1440, height: 900 } })
    await page.goto(REQUEST)
    await page.locator('.decision-form').waitFor()
    const focused = (): Promise<unknown> =>
      page.evaluate(`(() => { const { tagName, textContent, name, value } = document.activeElement
        return tagName === 'INPUT' || tagName === 'TEXTAREA' ? name + ':' + value : textContent })()`)
    expect(await focused()).toBe('Approve or reject this action?')
    const tabTo = async (target: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses += 1) {
        if ((await focused()) === target) return
        await page.keyboard.press('Tab')
        // Pressed faster than it draws, the page would rightly hold that some of the request was never on the screen.
        await page.evaluate('new Promise(requestAnimationFrame)')
      }
      throw new Error(`Tab never reached ${target}`)
    }
    // Without a comment, a low window shows the buttons, too.
    const { y = 0, height = 0 } = (await page.getByRole('button', { name: 'Approve' }).boundingBox()) ?? {}
    expect(y + height).toBeLessThanOrEqual(720)
    await tabTo('Add a comment')
    await page.keyboard.press('Enter')
    await tabTo('comment:')
    await page.keyboard.type('By keyboard.')
    await tabTo('method:passkey')
    await page.keyboard.press('ArrowDown')
    await tabTo('code:')
    await page.keyboard.type('123456')
    await tabTo('Approve')
    const ring: unknown = await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)
    expect(ring).toBe('solid')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Approved', exact: true }).waitFor()
    expect(await focused()).toBe('Approved')
    expect(await page.locator('.receipt').innerText()).toContain('By keyboard.')
  })

  it('puts the focus on the wanted button only where it can be seen', async () => {
    const desk = await suite.visit({ viewport: { width: 1440, height: 900 } })
    await desk.page.goto(`${REQUEST}?d=reject`)
    await desk.page.locator('.decision-form').waitFor()
    expect(await desk.page.evaluate('document.activeElement.textContent')).toBe('Reject')
    const phone = await suite.visit({ viewport: { width: 360, height: 700 } })
    await phone.page.goto(`${REQUEST}?d=reject`)
    await phone.page.locator('.decision-form').waitFor()
    expect(await phone.page.evaluate('document.activeElement.textContent')).toBe('Reject')
    expect(await phone.page.evaluate('scrollY')).toBe(0)
    // As at 400 %: the buttons are in sight there, but not yet what they decide on.
    const enlarged = await suite.visit({ viewport: { width: 320, height: 256 } })
    await enlarged.page.goto(`${REQUEST}?d=reject`)
    await enlarged.page.locator('.decision-form').waitFor()
    expect(await enlarged.page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(await enlarged.page.evaluate('scrollY')).toBe(0)
    expect(await overflow(enlarged.page)).toBeLessThanOrEqual(0)
  })

  it('describes each row of the inbox, tells what is selected, and keeps the focus when its bar goes', async () => {
    // It ends later, and so stands below.
    const expires_at = new Date(Date.now() + 86_400_000).toISOString()
    const second = samplePending({ id: 'req_2', action: 'Second', high_impact: false, expires_at })
    suite.server().state.pending = [samplePending(), second]
    const { page } = await suite.visit()
    await page.goto('/')
    const link = page.locator('.inbox-row').first().getByRole('link')
    const ids = (await link.getAttribute('aria-describedby'))?.split(' ') ?? []
    const about = await Promise.all(ids.map((id) => page.locator(`#${id}`).innerText()))
    expect(about).toEqual(['High impact', expect.stringContaining('ops-agent-prod')])
    const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent')
    const told = (): Promise<string> => page.locator('#announcements').innerText()
    await link.focus()
    await page.keyboard.press('x')
    expect(await told()).toBe('1 selected')
    await page.getByRole('button', { name: 'Clear' }).press('Enter')
    expect([await focused(), await told()]).toEqual(['Pending requests 2', '0 selected'])
    await page.keyboard.press('x')
    expect(await focused(), 'the chosen row').toContain('18 204 invoices')
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key)
    expect(await focused()).toContain('Second')
  })

  it('ties an error to its field and moves the focus there', async () => {
    const { page } = await suite.visit()
    await page.goto('/setup#good-token')
    await page.getByRole('button', { name: 'Create a passkey' }).click()
    const email = page.getByLabel('E-mail')
    expect(await email.getAttribute('aria-invalid')).toBe('true')
    const ids = (await email.getAttribute('aria-describedby'))?.split(' ') ?? []
    const texts = await Promise.all(ids.map((id) => page.locator(`#${id}`).innerText()))
    expect(texts).toContain('Enter your e-mail address, such as ana@example.com.')
    expect(await page.evaluate('document.activeElement.name')).toBe('email')
    suite.server().state.signedIn = false
    await page.goto('/signin')
    await page.getByText('Use a code instead').click()
    await page.getByLabel('E-mail').press('Enter')
    const error = await page.locator('.field-error').filter({ hasText: 'e-mail' }).innerText()
    expect(await page.locator('#announcements').innerText(), 'where the focus stays').toBe(error)
  })

  it('takes the token out of the address before anything else (T14)', async () => {
    const { page } = await suite.visit()
    await page.goto('/setup#good-token')
    await page.locator('.choice').first().waitFor()
    expect(page.url()).toBe(`${suite.server().url}/setup`)
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
  })
})
