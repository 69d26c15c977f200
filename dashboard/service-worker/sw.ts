/// <reference lib="webworker" />
import { deviceName } from './device-name.ts'
import { readPayload, targetOf } from './payload.ts'

/**
 * Shows what the service pushes, and opens the page it is about. It handles no requests of pages, keeps nothing and decides
 * nothing: whatever is pressed, the person sees the page and proves their presence there.
 */
declare const self: ServiceWorkerGlobalScope

self.addEventListener('install', () => void self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

// Browsers take the permission from a site whose pushes show nothing, so unreadable ones are shown, too.
self.addEventListener('push', (event) => {
  const { title, body, url, tag } = readPayload(event.data?.text())
  // `renotify` is not in the library's types yet: a reminder under the same tag makes itself heard again.
  const options: NotificationOptions & { renotify: boolean } = { body, tag, data: { url }, renotify: true }
  event.waitUntil(self.registration.showNotification(title, options))
})

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

// The push service gave the browser another address: the service must know, or nothing comes any more.
self.addEventListener('pushsubscriptionchange', (event) => {
  if (event instanceof ExtendableEvent) event.waitUntil(subscribeAgain(event))
})

async function subscribeAgain(event: ExtendableEvent & Partial<PushSubscriptionChangeEvent>): Promise<void> {
  const { oldSubscription } = event
  const renewed =
    event.newSubscription ??
    (oldSubscription && (await self.registration.pushManager.subscribe(oldSubscription.options)))
  if (!renewed) return
  await fetch('/api/v1/me/push', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ subscription: renewed, name: deviceName(navigator.userAgent) }),
  })
}
