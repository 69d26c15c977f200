import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser'
import { button, buttonRow, copyButton } from '../dom/button.ts'
import { el } from '../dom/element.ts'
import { type NoticeSlot, notice } from '../dom/notice.ts'

/** Thrown when the passkey prompt ends without a result; the message says what to do next. */
class CeremonyError extends Error {
  override readonly name = 'CeremonyError'
}

/** Checks whether this browser can use passkeys at all in this context (HTTPS or localhost). */
export const passkeysWork = browserSupportsWebAuthn

/** Says what to do when only a passkey will do and this browser cannot use passkeys; shown before anything is pressed. */
export function openElsewhere(url?: string): HTMLElement {
  return notice(
    'info',
    'this browser cannot use passkeys; windows inside other apps never can. Copy the link and open it in Safari or Chrome. ',
    copyLink(url),
  )
}

/** A button that copies `url`. It goes only to the clipboard and is never shown, since it may hold a secret (T14). */
export function copyLink(url = location.href): HTMLElement {
  const failed = 'Not copied: use the link from the message in which you got it'
  return el('span', { class: 'note-button' }, copyButton(url, 'the link to this page', 'Copy link', failed))
}

/** Returns the link to this page, with the secret that was removed from its address. */
export function completeLink(token: string): string {
  return new URL(`#${token}`, location.href).href
}

/** Asks for a passkey, and shows in the slot that the page waits for it. @throws CeremonyError */
export function usePasskey(
  options: PublicKeyCredentialRequestOptionsJSON,
  slot: NoticeSlot,
): Promise<AuthenticationResponseJSON> {
  const prompt = () => limited(options.timeout, () => startAuthentication({ optionsJSON: options }))
  return announced(slot, prompt, 'Nothing was sent.')
}

/** Creates a passkey, and shows in the slot that the page waits for it. @throws CeremonyError */
export function createPasskey(
  options: PublicKeyCredentialCreationOptionsJSON,
  slot: NoticeSlot,
): Promise<RegistrationResponseJSON> {
  const prompt = () => limited(options.timeout, () => startRegistration({ optionsJSON: options }))
  return announced(slot, prompt, 'No passkey was created.')
}

/** The kind of authenticator that the browser offers first (WebAuthn L3, section 5.8.7); its prompt still offers the others. */
export type PasskeyHints = ('client-device' | 'security-key')[]

/** Buttons for the two places where a passkey can be created. */
export function passkeyPlaces(create: (hints: PasskeyHints) => Promise<void>): HTMLElement {
  return buttonRow(
    button('Create a passkey on this device', 'primary', () => create(['client-device'])),
    button('Use a security key', 'plain', () => create(['security-key'])),
  )
}

/** Runs `prompt` and shows meanwhile that the browser waits for a passkey, with a button to stop waiting. */
async function announced<T>(slot: NoticeSlot, prompt: () => Promise<T>, outcome: string): Promise<T> {
  const pressed = document.activeElement
  const stop = button('Stop waiting', 'quiet', stopPrompt)
  slot.show(
    'info',
    'your browser asks for your passkey now. Close its prompt to do something else here. ',
    el('span', { class: 'note-button' }, stop),
  )
  try {
    return await prompt()
  } catch (error) {
    throw new CeremonyError(advice(error, outcome))
  } finally {
    const stopped = document.activeElement === stop
    slot.clear()
    if (stopped && pressed instanceof HTMLElement) pressed.focus({ preventScroll: true })
  }
}

/** Cancels the open passkey prompt, if any; its caller gets a CeremonyError. */
export function stopPrompt(): void {
  WebAuthnAbortService.cancelCeremony()
}

const LONGEST_PROMPT_MS = 300_000

/** The limit when neither this device nor a phone nearby can answer: then only a security key is worth waiting for. */
const NONE_NEAR_MS = 60_000

/**
 * Ends a prompt that was not answered in time. Chromium keeps its prompt open past the options' `timeout`, and meanwhile the
 * page gets no clicks and no keys: only the page itself can then end the prompt.
 */
async function limited<T>(timeout: number | undefined, prompt: () => Promise<T>): Promise<T> {
  const longest = Math.min(timeout ?? LONGEST_PROMPT_MS, LONGEST_PROMPT_MS)
  let limit = setTimeout(stopPrompt, longest)
  let over = false
  void authenticatorNear().then((near) => {
    if (near || over) return
    clearTimeout(limit)
    limit = setTimeout(stopPrompt, Math.min(longest, NONE_NEAR_MS))
  })
  try {
    return await prompt()
  } finally {
    over = true
    clearTimeout(limit)
  }
}

/** Checks whether this device or a phone nearby can hold a passkey (WebAuthn Level 3, section 5.1.7); true if unknown. */
async function authenticatorNear(): Promise<boolean> {
  try {
    const { passkeyPlatformAuthenticator } = await PublicKeyCredential.getClientCapabilities()
    return passkeyPlatformAuthenticator !== false
  } catch {
    return true
  }
}

/** Explains a failure of the browser's prompt to the person (WebAuthn Level 3, sections 5.1.3 and 5.1.4). */
function advice(error: unknown, outcome: string): string {
  const name = error instanceof Error ? error.name : ''
  if (name === 'InvalidStateError')
    return 'This device or security key already holds one of your passkeys for this service.'
  if (name === 'SecurityError')
    return 'The passkey does not belong to this address. Open the service at its own address.'
  if (name === 'NotSupportedError')
    return `This device cannot create the required kind of passkey. ${outcome}`
  if (name === 'AbortError') return `The passkey prompt was stopped or timed out. ${outcome}`
  if (name === 'NotAllowedError') {
    return `The passkey prompt was closed or timed out, or none of your passkeys is on this device. ${outcome} Try again.`
  }
  return `The passkey did not work. ${outcome} Try again, or use another way.`
}

/** Cancels the prompt once the person uses `other`: with two methods open, they might wait for the wrong one. */
export function insteadOfPrompt(other: HTMLElement): void {
  for (const type of ['click', 'input', 'submit']) other.addEventListener(type, stopPrompt)
}
