import { visibleString } from '../../src/domain/text.ts'
import type { newPushDeviceAnswer, pushDevicesAnswer, pushTestAnswer } from '../../src/http/api/push.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'
import { deviceName, isTablet } from '../../webauthn-page/kit/device-name.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { askFirst } from '../../webauthn-page/kit/dom/dialog.ts'
import { div, el, hint, p } from '../../webauthn-page/kit/dom/element.ts'
import { nameField } from '../../webauthn-page/kit/dom/form.ts'
import { keep, kept } from '../../webauthn-page/kit/dom/kept.ts'
import { day } from '../../webauthn-page/kit/dom/moment.ts'
import { readName } from '../../webauthn-page/kit/passkey/read-name.ts'
import { proven } from '../../webauthn-page/kit/passkey/step-up.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { entry, tag } from '../parts/rows.ts'
import { type OrFailure, orFailure, type Section, section, showFailure } from '../parts/section.ts'
import type { Done } from '../shell/page-entry.ts'

type PushDevices = Answer<typeof pushDevicesAnswer>
type Device = PushDevices['devices'][number]
const devicesShape = answer<PushDevices>()
const newDeviceShape = answer<Answer<typeof newPushDeviceAnswer>>()
const testShape = answer<Answer<typeof pushTestAnswer>>()

/** @throws RequestFailure 401 */
export function loadPushDevices(): Promise<OrFailure<PushDevices>> {
  return orFailure(get('/me/push', devicesShape))
}

/** "Notifications on this device": turns them on in this browser; lists, tests and removes every browser that has them. */
export function pushSection(push: OrFailure<PushDevices>, done: Done): HTMLElement {
  const part = section(
    'Notifications on this device',
    'This browser can notify you of pending requests, also while no page is open. To decide, you need the page and your passkey or code.',
  )
  if ('failure' in push) return showFailure(part, push.failure, () => done())
  const { public_key: publicKey, devices } = push
  const own = devices.find(({ id }) => id === kept('localStorage', OWN_ID))
  part.body.append(
    own === undefined ? turnOn(part, publicKey, done) : p('Notifications are on in this browser.'),
  )
  if (devices.length > 0) {
    const rows = devices.map((device) => row(part, device, device === own, done))
    part.body.append(
      el('h3', {}, 'Browsers that show notifications'),
      el('ul', { class: 'entries' }, ...rows),
    )
  }
  return part.element
}

/** Asks for the permission only on a click: browsers penalise a site that asks without a gesture. */
function turnOn(part: Section, publicKey: string, done: Done): HTMLElement {
  const ability = pushAbility()
  if (ability !== 'possible') return hint(ADVICE[ability])
  const name = nameField('Name of this browser', 'So that you can tell your browsers apart.', {
    name: 'device-name',
    value: deviceName(),
  })
  const start = async (): Promise<void> => {
    const said = readName(name, 'Give the browser a name.')
    if (said === undefined) return
    const subscription = await subscribe(publicKey)
    // Closing the browser's prompt refuses for now; pressing "Block" refuses for good.
    if (subscription === undefined)
      return part.slot.show('info', ADVICE[Notification.permission === 'denied' ? 'refused' : 'dismissed'])
    const body = { subscription, name: said }
    const purpose = ['Confirm that ', callerText(body.name), ' is to show your requests.']
    const answer = await proven(purpose, () => post('/me/push', body, newDeviceShape))
    if (answer === undefined) return
    const { device } = answer
    keep('localStorage', OWN_ID, device.id)
    await done('This browser shows notifications now.')
  }
  return div(
    'section-body',
    name.row,
    buttonRow(button('Turn on notifications', 'primary', () => part.slot.attempt(start, { name }))),
  )
}

/** Links open in Safari, not in the app on the home screen, so no link can make that app a known browser. */
const ONLY_CODES =
  'Do you have only codes? Add a passkey first: the app counts as a new browser, where codes do not sign you in.'

const ADVICE = {
  unsupported: 'This browser cannot show notifications of web pages. Use another one for that.',
  /** iPhones and iPads show notifications only of apps on the home screen. */
  home_screen_first: `On iPhone and iPad only apps on the home screen get notifications: press Share, then “Add to Home Screen”, open Countersign from there and come back to this page. ${ONLY_CODES}`,
  /** The person or their organisation refused: only the browser's own settings can change that. */
  refused:
    'Notifications of this site are blocked in this browser. Allow them in its site settings, beside the address, and reload this page.',
  dismissed: 'The browser did not allow notifications. Press the button again and allow them.',
} as const

function row(part: Section, device: Device, own: boolean, done: Done): HTMLElement {
  const { id, name, created_at, last_sent_at } = device
  const said = visibleString(name)
  return entry(
    [callerText(name), own && tag('This browser')],
    [
      hint(
        'since ',
        day(created_at),
        ...(last_sent_at === null ? [' · nothing sent yet'] : [' · last sent ', day(last_sent_at)]),
      ),
    ],
    buttonRow(
      button('Send a test', 'quiet', () => test(part, id, said), { 'aria-label': `Send a test to ${said}` }),
      button('Remove', 'quiet', () => part.slot.attempt(() => removeDevice({ id, name, own }, done)), {
        'aria-label': `Remove ${said}`,
      }),
    ),
  )
}

function test(part: Section, id: string, name: string): Promise<void> {
  return part.slot.attempt(async () => {
    const { sent } = await post(`/me/push/${id}/test`, {}, testShape)
    if (sent)
      part.slot.show(
        'success',
        `A test is on its way to ${name}. If it does not appear, check the notification settings of that device.`,
      )
    else
      part.slot.show(
        'warning',
        `The push service of ${name} refused the test. Remove it and turn notifications on again.`,
      )
  })
}

async function removeDevice(
  { id, name, own }: { id: string; name: string; own: boolean },
  done: Done,
): Promise<void> {
  const sure = await askFirst(
    'Turn notifications off there?',
    'Turn off',
    callerText(name),
    ' will no longer show your requests.',
  )
  if (!sure) return
  await post(`/me/push/${id}/remove`, {}, okShape)
  if (own) {
    keep('localStorage', OWN_ID, null)
    await unsubscribe()
  }
  await done('Notifications are turned off there.')
}

/** Tells whether this browser can show notifications, or why not. Does not ask for a permission. */
function pushAbility() {
  const can = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window
  const apple = /iPhone|iPad|iPod/.test(navigator.userAgent) || isTablet()
  if (!can) return apple ? 'home_screen_first' : 'unsupported'
  return Notification.permission === 'denied' ? 'refused' : 'possible'
}

/** How to put the service on the home screen, for a phone where that helps; undefined once the person dismissed it. */
export function installHint(): HTMLElement | undefined {
  const words = wayToInstall()
  if (words === undefined || kept('localStorage', HINT) !== null) return undefined
  const away = button('Do not show again', 'quiet', () => {
    keep('localStorage', HINT, 'off')
    element.replaceChildren('This is not shown again in this browser.')
    element.tabIndex = -1
    element.focus()
  })
  const element = hint(words, ' ', away)
  return element
}

const HINT = 'countersign.install-hint'

/**
 * How this browser puts the service on the home screen; undefined where that does not help or cannot be. Browsers inside other apps
 * cannot add to the home screen; they lack the features that are tested here.
 */
export function wayToInstall(): string | undefined {
  const ability = pushAbility()
  if (ability === 'home_screen_first' && 'PublicKeyCredential' in window)
    return Reflect.get(navigator, 'standalone') === false
      ? `To be notified on this device, put Countersign on the home screen: press Share, then “Add to Home Screen”, and open it from there. ${ONLY_CODES}`
      : undefined
  if (ability !== 'possible' || !/Android/.test(navigator.userAgent)) return undefined
  return 'Countersign opens from the home screen like an app: choose “Add to Home screen” or “Install app” in the menu of the browser.'
}

const WORKER = '/sw.js'

type Policy = { createScriptURL(url: string): string }
interface TrustedTypes {
  createPolicy(name: string, rules: Policy): Policy
}

/** The only script address that this page hands out (the policy's name is listed in the Content-Security-Policy). */
let workerUrl: string | undefined
function trustedWorkerUrl(): string {
  const { trustedTypes } = window as Window & { trustedTypes?: TrustedTypes }
  const rules = { createScriptURL: () => WORKER }
  workerUrl ??= trustedTypes?.createPolicy('service-worker', rules).createScriptURL(WORKER) ?? WORKER
  return workerUrl
}

/** Registers the worker, without asking for a permission: it also tells the person when the service cannot be reached. */
export async function startWorker(): Promise<void> {
  await navigator.serviceWorker.register(trustedWorkerUrl(), { scope: '/', updateViaCache: 'none' })
}

/**
 * Asks for the permission, if it was not given yet, and subscribes with the service's key. Call it from a click handler.
 * @returns undefined when the person refused
 */
async function subscribe(publicKey: string): Promise<PushSubscriptionJSON | undefined> {
  if ((await Notification.requestPermission()) !== 'granted') return undefined
  await startWorker()
  const { pushManager } = await navigator.serviceWorker.ready
  const options = { userVisibleOnly: true, applicationServerKey: publicKey }
  try {
    return (await pushManager.subscribe(options)).toJSON()
  } catch (error) {
    // This browser is subscribed with another key: the service was set up again since.
    const old = error instanceof DOMException && error.name === 'InvalidStateError'
    if (!old || !(await (await pushManager.getSubscription())?.unsubscribe())) throw error
    return (await pushManager.subscribe(options)).toJSON()
  }
}

/** Ends the subscription of this browser, if there is one. */
async function unsubscribe(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration('/')
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

/** The storage key of this browser's device id, kept here because the service's list shows no subscriptions. */
const OWN_ID = 'countersign.push-device'
