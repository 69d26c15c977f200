import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EngineWindow } from '../support/engine-window.ts'
import {
  describeOnEngine,
  type Engine,
  EngineCrash,
  FIREFOX_ENGINE,
  WEBKIT_ENGINE,
} from '../support/engines.ts'
import { codeAt, enrolWithPasskey, enrolWithTotp, invitationFor } from '../support/enrolled.ts'
import { ask, callWithKey, keyOf } from '../support/live.ts'
import { startService, type TestService } from '../support/service.ts'
import { size } from '../support/size.ts'
import { answerOf } from '../support/verify-scenes.ts'

/** A window of the engine, and a service of its own. */
interface Scene {
  window: EngineWindow
  service: TestService
}

/** Somebody with codes, known to the browser in `window`, and a key of their account. */
interface Person {
  email: string
  key: string
  /** Signed in, and known as a browser that enrolled. */
  cookies: Map<string, string>
  /** One that was not used yet. */
  code(): string
}

let people = 0
const newAddress = (): string => {
  people += 1
  return `person-${people}@example.com`
}

/** The service's clock goes on by one step of codes. */
function goOn(service: TestService): void {
  const { clock } = service.composition.deps
  const { now } = clock
  clock.now = () => new Date(now().getTime() + 30_000)
}

function nextCode(service: TestService, secret: string): string {
  goOn(service)
  return codeAt(secret, service.composition.deps.clock.now())
}

async function personWithCodes(service: TestService): Promise<Person> {
  const email = newAddress()
  const { browser, secret, userId } = await enrolWithTotp(service, email)
  const key = await keyOf(service, userId)
  return { email, key, cookies: browser.cookies, code: () => nextCode(service, secret) }
}

async function signIn(window: EngineWindow, { email, code }: Pick<Person, 'email' | 'code'>): Promise<void> {
  await window.sees('Use a code instead')
  // Open already where there are no passkeys.
  if (!(await window.text()).includes('E-mail')) await window.press('Use a code instead')
  await window.fill('E-mail', email)
  await window.fill('Code', code())
  await window.press('Sign in with the code')
}

/** From the link that a fresh service prints to the first key, all in the browser. */
async function setUp(window: EngineWindow, service: TestService): Promise<Omit<Person, 'cookies'>> {
  const email = newAddress()
  await window.open(service.setupUrl ?? 'a fresh service must print a set-up link')
  await window.fill('E-mail', email)
  await window.fill('Your name', 'Ana Pereira')
  expect(await window.run('return location.href')).toBe(`${service.url}/setup`)
  await window.press('Use an authenticator app')
  await window.sees('Confirm the code')
  const secret = (await window.textOf('.secret')).replaceAll(' ', '')
  expect(await window.run(`return document.querySelector('.qr').naturalWidth`)).toBeGreaterThan(0)
  const code = (): string => nextCode(service, secret)
  await window.fill('Code from your authenticator app', code())
  await window.press('Confirm the code')
  await window.sees('Save your backup codes')
  await window.press('I saved them')
  await window.press('Continue')
  await window.arrives('/')
  await window.press('Create your first API key')
  await window.sees('sa_live_')
  return { email, code, key: await window.textOf('.secret-box code') }
}

async function statusOf(service: TestService, { key }: Person, id: string): Promise<unknown> {
  return (await answerOf({ service, key }, id)).status
}

/** Where an element is, in pixels of the window. */
async function boxOf(window: EngineWindow, selector: string): Promise<{ top: number; height: number }> {
  const box = await window.run(
    'return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()',
    selector,
  )
  return { top: Number(Object(box).top), height: Number(Object(box).height) }
}

const DESK = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }

async function overflow(window: EngineWindow): Promise<unknown> {
  return window.run('return document.documentElement.scrollWidth - innerWidth')
}

/** How much of what stands in a frame cannot be seen, in pixels. */
const CUT_OFF = `const frame = document.querySelector(arguments[0]); return frame.scrollHeight - frame.clientHeight`

const PAGES = [
  '/',
  '/overview',
  '/requests',
  '/keys',
  '/integrations',
  '/members',
  '/settings',
  '/audit',
  '/account',
  '/verify',
]
const LOADED = `return document.querySelector('main h1') !== null && document.querySelector('[aria-busy="true"]') === null`

/** What people do, in the order in which it is tried. */
const JOURNEYS: readonly [name: string, take: (scene: Scene) => Promise<void>][] = [
  [
    'sets up with codes, signs in with one, approves, signs out, and the way back shows nothing of it (T13)',
    async ({ window, service }) => {
      const owner = await setUp(window, service)
      const setting = { service, key: owner.key }
      const id = await ask(setting, { action: 'Pay 1 200 EUR to Example Ltd' })
      await window.sees('Pay 1 200 EUR')
      await window.press('Sign out')
      await window.sees('Sign in\n')
      await window.open(`/a/${id}?d=approve`)
      await signIn(window, owner)
      await window.sees('Approve or reject this action?')
      await window.fill('Code from your authenticator app', owner.code())
      expect((await answerOf(setting, id)).status).toBe('pending')
      await window.press('Approve')
      await window.sees('your approval is recorded.')
      expect(await answerOf(setting, id)).toMatchObject({
        status: 'approved',
        decision: { decision: 'approved', method: 'totp' },
      })
      const waiting = await ask(setting, { action: 'Rotate the signing key' })
      await window.press('Inbox')
      await window.sees('Rotate the signing key')
      await window.open(`/a/${waiting}`)
      await window.sees('Approve or reject this action?')
      await window.press('Inbox')
      await window.sees('Sign out')
      await window.press('Sign out')
      await window.sees('Sign in\n')
      for (const _ of ['request', 'inbox', 'decided request']) {
        await window.back()
        await window.sees('Use a code instead')
        const shown = await window.text()
        for (const secret of ['EUR', 'Rotate', owner.email]) expect(shown).not.toContain(secret)
      }
    },
  ],
  [
    'rejects with a comment',
    async ({ window, service }) => {
      const person = await personWithCodes(service)
      const id = await ask({ service, key: person.key }, { action: 'Drop the table مرحبا' })
      await window.become(person.cookies)
      await window.open(`/a/${id}?d=reject`)
      await window.press('Add a comment')
      await window.fill('Comment (optional)', 'Not on a Friday.')
      await window.fill('Code from your authenticator app', person.code())
      await window.press('Reject')
      await window.sees('your rejection is recorded.')
      expect(await answerOf({ service, key: person.key }, id)).toMatchObject({
        status: 'rejected',
        decision: { decision: 'rejected', method: 'totp', comment: 'Not on a Friday.' },
      })
    },
  ],
  [
    'shows what is asked meanwhile without moving what is read, and decides all together',
    async ({ window, service }) => {
      const person = await personWithCodes(service)
      const setting = { service, key: person.key }
      const ids: string[] = []
      for (let number = 1; number <= 9; number += 1)
        ids.push(await ask(setting, { action: `Restart server ${number}` }))
      await window.become(person.cookies)
      await window.open('/')
      await window.sees('End of the caller’s text')
      expect(await window.run(CUT_OFF, '.reading .caller-box')).toBe(0)
      await window.resize(PHONE.width, 640)
      await window.open('/')
      await window.sees('Restart server 9')
      await window.run('scrollTo(0, 150)')
      const row = `.inbox-row:has([href^="/a/${ids[5]}"])`
      const before = await boxOf(window, row)
      ids.push(await ask(setting, { action: 'Stop the leak now', ttl_seconds: 600 }))
      await window.sees('Stop the leak now')
      expect(Math.abs((await boxOf(window, row)).top - before.top)).toBeLessThan(2)
      expect(await overflow(window)).toBeLessThanOrEqual(0)
      await window.press('Select all')
      await window.press('Approve 10 selected')
      await window.sees('One confirmation decides all of these')
      await window.fill('Code from your authenticator app', person.code())
      await window.press('Approve 10 requests')
      await window.sees('Approved: 10 requests')
      for (const id of ids) expect(await statusOf(service, person, id)).toBe('approved')
      await window.press('Back to the inbox')
      await window.sees('You have no pending requests.')
    },
  ],
  [
    'fits a phone, page by page, with time and buttons at the lower edge of a request',
    async ({ window, service }) => {
      const person = await personWithCodes(service)
      const context = { reason: 'word '.repeat(200), tool_arguments: { id: 'x'.repeat(300) } }
      const id = await ask({ service, key: person.key }, { action: 'Pay 40 EUR', context })
      await window.become(person.cookies)
      await window.resize(PHONE.width, PHONE.height)
      await window.open(`/a/${id}`)
      // On a phone the heading is shorter for the eye.
      await window.sees('Pay 40 EUR')
      // The bar of WebKit's small browser is 447 px wide, and its page not narrower.
      expect(await window.run('return innerWidth')).toBeLessThan(450)
      const { top, height } = await boxOf(window, '.decision-bar')
      expect(Math.abs(Number(await window.run('return innerHeight')) - top - height)).toBeLessThan(1)
      for (const path of [`/a/${id}`, `/requests/${id}`, ...PAGES]) {
        await window.open(path)
        await window.holds(LOADED)
        expect(await overflow(window), path).toBeLessThanOrEqual(0)
      }
    },
  ],
  [
    'asks before a key is revoked, in a dialog as high as what it says',
    async ({ window, service }) => {
      const person = await personWithCodes(service)
      const works = async (): Promise<number> => (await callWithKey(service, person.key, '')).status
      await window.become(person.cookies)
      await window.open('/keys')
      await window.press('Revoke the API key test key')
      await window.sees('Revoke this API key?')
      expect((await boxOf(window, '.dialog')).height).toBeLessThan(450)
      expect((await boxOf(window, '.dialog .danger')).height).toBeLessThan(60)
      await window.press('Cancel')
      expect(await works()).toBe(200)
      await window.press('Revoke the API key test key')
      await window.press('Revoke')
      await window.sees('The API key is revoked.')
      expect(await works()).toBe(401)
    },
  ],
  [
    'verifies a receipt, and finds the one that was changed',
    async ({ window, service }) => {
      const person = await personWithCodes(service)
      const id = await ask({ service, key: person.key }, { action: 'Pay 40 EUR' })
      await window.become(person.cookies)
      await window.open(`/a/${id}`)
      await window.fill('Code from your authenticator app', person.code())
      await window.press('Approve')
      await window.sees('your approval is recorded.')
      const receipt = await answerOf({ service, key: person.key }, id)
      await window.become(new Map())
      const check = async (json: object): Promise<void> => {
        // The same address again would be a way back, with what was checked before.
        await window.open('/signin')
        await window.open('/verify')
        await window.fill('Receipt, link or id', ' ')
        // As pasting does: typed by key, it would take minutes.
        await window.run(`document.querySelector('textarea').value = arguments[0]`, JSON.stringify(json))
        await window.press('Check')
      }
      await check(receipt)
      await window.sees('A genuine approval, unchanged')
      await check({ ...receipt, action: 'Pay 4000 EUR' })
      await window.sees('Not what was decided on: “action” differs')
      expect(await overflow(window)).toBeLessThanOrEqual(0)
    },
  ],
]

/** An engine without passkeys, as the windows inside of chat apps are. */
const WITHOUT_PASSKEYS: typeof JOURNEYS = [
  [
    'says that passkeys do not work here, before anything is pressed: on a request, and on several together',
    async ({ window, service }) => {
      const { browser, userId } = await enrolWithPasskey(service, newAddress())
      const setting = { service, key: await keyOf(service, userId) }
      const id = await ask(setting)
      await ask(setting)
      await window.become(browser.cookies)
      await window.open(`/a/${id}?d=approve`)
      await window.sees('this browser cannot use passkeys')
      expect(await window.text()).not.toMatch(/^(Approve|Reject)$/m)
      await window.open('/')
      await window.press('Select all')
      await window.press('Approve 2 selected')
      await window.sees('One confirmation decides all of these')
      await window.sees('this browser cannot use passkeys')
      expect(await window.text()).not.toContain('Approve 2 requests\n')
    },
  ],
]

const WITH_PASSKEYS: typeof JOURNEYS = [
  [
    'enrols with a passkey, decides both ways with it, and signs in with it',
    async ({ window, service }) => {
      const email = newAddress()
      await window.become(new Map())
      await window.open(`/enroll#${await invitationFor(service, email)}`)
      await window.press('Create a passkey on this device')
      await window.sees('Sign out')
      const user = await service.composition.deps.users.findByEmail(email)
      const setting = { service, key: await keyOf(service, user?.id ?? '') }
      for (const [button, decision] of [
        ['Approve', 'approved'],
        ['Reject', 'rejected'],
      ] as const) {
        const id = await ask(setting)
        await window.open(`/a/${id}`)
        await window.press(button)
        await window.sees(
          decision === 'approved' ? 'your approval is recorded.' : 'your rejection is recorded.',
        )
        expect(await answerOf(setting, id)).toMatchObject({
          status: decision,
          decision: { method: 'passkey' },
        })
      }
      await window.open('/')
      await window.press('Sign out')
      await window.press('Sign in with a passkey')
      await window.sees('You have no pending requests.')
    },
  ],
]

function journeysOn(engine: Engine, own: typeof JOURNEYS): void {
  // A whole browser more is too much for every run.
  const describeHere = size(0, 1) === 1 ? describeOnEngine : skipped
  describeHere(engine, () => {
    let scene: Scene
    let ends: (() => Promise<void>)[] = []
    const begin = async (): Promise<void> => {
      const service = await startService()
      ends.push(service.close)
      const send = await engine.start((end) => ends.push(end))
      scene = { service, window: new EngineWindow(send, service.url) }
      await scene.window.resize(DESK.width, DESK.height)
    }
    const end = async (): Promise<void> => {
      // What has crashed cannot be told to end.
      for (const one of ends.reverse()) await one().catch(() => undefined)
      ends = []
    }
    beforeAll(begin, 240_000)
    afterAll(end)
    const takeOnce = async (take: (scene: Scene) => Promise<void>): Promise<void> => {
      await scene.window.resize(DESK.width, DESK.height)
      await take(scene)
    }
    it.each([...JOURNEYS, ...own])('%s', async (_name, take) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await takeOnce(take)
        } catch (error) {
          if (!(error instanceof EngineCrash) || tries === 6) throw error
          // WebKitGTK's process ends at times when a page gives way to the next: once more, on a fresh one.
          console.warn(`${engine.name} crashed; the journey starts again`)
          await end()
          await begin()
        }
      }
    })
  })
}

function skipped({ name }: Engine, suite: () => void): void {
  describe.skip(name, suite)
}

journeysOn(FIREFOX_ENGINE, WITH_PASSKEYS)
journeysOn(WEBKIT_ENGINE, WITHOUT_PASSKEYS)
