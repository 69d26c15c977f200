import type { PushPayload } from '../../src/domain/push.ts'
import { deviceName } from '../../webauthn-page/kit/device-name.ts'
import { parseUrl } from '../../webauthn-page/kit/parse-url.ts'

/// <reference lib="webworker" />

/**
 * Shows the notifications that the service pushes, and opens their pages. The worker answers page loads only while the
 * service is out of reach. It stores nothing and decides nothing: a decision takes the page and a proof of presence there.
 */
declare const self: ServiceWorkerGlobalScope

self.addEventListener('install', () => void self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('fetch', (event) => {
  if (event.request.mode === 'navigate') event.respondWith(fetch(event.request).catch(notConnected))
})

const STYLE = `:root{color-scheme:light dark;font:1rem/1.55 system-ui,sans-serif}body{max-width:30rem;margin:20vh auto 0;padding:0 1.5rem}`
/** The page reloads itself, without any script. */
const NOT_CONNECTED = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Not connected · Countersign</title><style>${STYLE}</style></head><body><main><h1>Not connected</h1><p>Countersign cannot be reached. Nothing was decided or lost; this page tries again every few seconds.</p></main></body></html>`

async function notConnected(): Promise<Response> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(STYLE)))
  const policy = `default-src 'none'; style-src 'sha256-${btoa(String.fromCharCode(...digest))}'; frame-ancestors 'none'`
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy }
  return new Response(NOT_CONNECTED, { status: 503, headers })
}

// Browsers revoke the permission of a site whose pushes show nothing, so unreadable pushes are shown as well.
self.addEventListener('push', (event) => event.waitUntil(showNotification(readPayload(event.data?.text()))))

function showNotification({ title, body, url, tag }: PushPayload): Promise<void> {
  // `renotify`, not in the library's types yet, alerts again for a reminder under the same tag.
  const options: NotificationOptions & { renotify: boolean } = { body, tag, data: { url }, renotify: true }
  return self.registration.showNotification(title, options)
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(targetOf(event.notification.data, self.location.origin)))
})

async function openPage(target: string): Promise<void> {
  const pages = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const open = pages.find(({ url }) => url === target)
  if (open === undefined) await self.clients.openWindow(target)
  else await open.focus()
}

// The push service gave the browser another address: Countersign must know it, or no push arrives any more.
self.addEventListener('pushsubscriptionchange', (event) => {
  if (event instanceof ExtendableEvent) event.waitUntil(subscribeAgain(event))
})

async function subscribeAgain(event: ExtendableEvent & Partial<PushSubscriptionChangeEvent>): Promise<void> {
  const { oldSubscription } = event
  const renewed =
    event.newSubscription ??
    (oldSubscription && (await self.registration.pushManager.subscribe(oldSubscription.options)))
  if (!renewed) return
  const answer = await fetch('/api/v1/me/push', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ subscription: renewed, name: deviceName() }),
  })
  // Registering takes a session with a recent proof, which only the person can give.
  if (!answer.ok) await showNotification(ASK_AGAIN)
}

const ASK_AGAIN: PushPayload = {
  title: 'Notifications stopped',
  body: 'Open your account, remove this browser there and turn notifications on again.',
  url: '/account',
  tag: 'ask-again',
}

/** Shown for an unreadable push: an older worker may meet a newer service. */
const UNREADABLE: PushPayload = {
  title: 'You have pending requests',
  body: 'Open Countersign.',
  url: '/',
  tag: 'unreadable',
}

/** Reads the notification from the text of a push. */
function readPayload(text: string | undefined): PushPayload {
  try {
    const value: unknown = JSON.parse(text ?? '')
    if (typeof value !== 'object' || value === null) return UNREADABLE
    const { title, body, url, tag } = { ...UNREADABLE, ...value }
    // Without a tag `renotify` is not possible, and browsers refuse the notification.
    return [title, body, url, tag].every((field) => typeof field === 'string' && field !== '')
      ? { title, body, url, tag }
      : UNREADABLE
  } catch {
    return UNREADABLE
  }
}

/** Returns the page of a notification: always on this origin, and without a query, so that it carries no decision along. */
function targetOf(data: unknown, origin: string): string {
  const path = typeof data === 'object' && data !== null && 'url' in data ? data.url : undefined
  const url = typeof path === 'string' ? parseUrl(path, origin) : undefined
  return url?.origin === origin ? `${origin}${url.pathname}` : `${origin}/`
}
