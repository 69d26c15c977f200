import { deviceName } from '../service-worker/device-name.ts'

/** What this browser can do about notifications. */
export type PushAbility =
  | 'possible'
  /** The person, or their organisation, said no: only the browser's own settings can change that. */
  | 'refused'
  | 'unsupported'
  /** iPhones and iPads show notifications of apps on the home screen only. */
  | 'home_screen_first'

/** Asks nobody anything. */
export function pushAbility(): PushAbility {
  const can = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window
  if (!can) return /iPhone|iPad|iPod/.test(navigator.userAgent) ? 'home_screen_first' : 'unsupported'
  return Notification.permission === 'denied' ? 'refused' : 'possible'
}

/** A name to begin with; the person can say better. */
export function suggestedName(): string {
  return deviceName(navigator.userAgent)
}

const WORKER = '/sw.js'

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): {
    createScriptURL(url: string): string
  }
}

/** The one script address this page ever hands out (the name is the one in the Content-Security-Policy). */
let workerUrl: string | undefined
function trustedWorkerUrl(): string {
  const { trustedTypes } = window as Window & { trustedTypes?: TrustedTypes }
  const rules = {
    createScriptURL(url: string): string {
      if (url !== WORKER) throw new TypeError('only the service worker is started')
      return url
    },
  }
  workerUrl ??= trustedTypes?.createPolicy('service-worker', rules).createScriptURL(WORKER) ?? WORKER
  return workerUrl
}

/**
 * Asks for the permission, if it was not given yet, and subscribes with the service's key. Call it from a click.
 * @returns undefined when the person said no
 */
export async function subscribe(publicKey: string): Promise<PushSubscriptionJSON | undefined> {
  if ((await Notification.requestPermission()) !== 'granted') return undefined
  await navigator.serviceWorker.register(trustedWorkerUrl(), { scope: '/', updateViaCache: 'none' })
  const { pushManager } = await navigator.serviceWorker.ready
  const options = { userVisibleOnly: true, applicationServerKey: publicKey }
  try {
    return (await pushManager.subscribe(options)).toJSON()
  } catch (error) {
    // Subscribed with another key: the service was set up anew.
    const old = error instanceof DOMException && error.name === 'InvalidStateError'
    if (!old || !(await (await pushManager.getSubscription())?.unsubscribe())) throw error
    return (await pushManager.subscribe(options)).toJSON()
  }
}

/** Ends the subscription of this browser, if there is one. */
export async function unsubscribe(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration('/')
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

/** Which of the devices this browser is: remembered here, since the service shows no subscription. */
const OWN_ID = 'countersign.push-device'

export function ownDeviceId(): string | null {
  try {
    return localStorage.getItem(OWN_ID)
  } catch {
    return null
  }
}

export function rememberDevice(id: string | null): void {
  try {
    if (id === null) localStorage.removeItem(OWN_ID)
    else localStorage.setItem(OWN_ID, id)
  } catch {
    // Where nothing may be kept, the list shows the browser like any other.
  }
}
