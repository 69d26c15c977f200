import { apiKeysShape, newApiKeyShape, type PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { get, post } from '../../webauthn-page/kit/api/request.ts'
import { submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, type Child, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { section } from '../parts/section.ts'

/** Has the account of this person never had a key? @throws RequestFailure, ShapeError */
export async function neverHadKey(): Promise<boolean> {
  return (await get('/account/api-keys', apiKeysShape)).data.length === 0
}

/** The way from nothing to the first approved request, all of it on the screen. */
export interface FirstRun {
  element: HTMLElement
  /** Takes what waits now: the third step follows it. */
  show(waiting: readonly PendingRequest[]): void
}

/** A key, a command, a decision. The raw key lives in this page alone. */
export function firstRun(): FirstRun {
  const part = section(
    'Your first approval, in three steps',
    'It takes a minute and a terminal. Afterwards your own agents and applications ask the same way.',
  )
  const ask = step('Ask for an approval', 'The command to copy appears here, with your key in it.')
  const decide = step('Approve it', 'The request appears here by itself, seconds after you asked.')
  const key = step(
    'Create an API key',
    keyForm((rawKey) => keyMade(rawKey)),
  )
  const keyMade = (rawKey: string): void => {
    before = new Set(waiting.map(({ id }) => id))
    key.fill(
      p('Your key. ', el('strong', {}, 'It is shown only this once'), ': copy it to a safe place.'),
      secretBox(rawKey, 'the API key'),
    )
    ask.fill(
      p('Run this in a terminal on this machine, or wherever this address can be reached:'),
      command(askCommand(rawKey, location.origin), 'the command that asks for an approval'),
    )
    ask.heading.focus()
    announce('Your key is made. Step 2: ask for an approval')
  }
  part.body.append(el('ol', { class: 'guide' }, key.element, ask.element, decide.element))
  let waiting: readonly PendingRequest[] = []
  let before: ReadonlySet<string> | undefined
  let shown: string | undefined
  return {
    element: part.element,
    show(now) {
      waiting = now
      // Others may have asked this person before; the guide is about what their own key asks.
      const first = before && now.find(({ id }) => before?.has(id) === false)
      if (first?.id === shown) return
      if (first === undefined) decide.fill(decided())
      else decide.fill(...arrived(first))
      shown = first?.id
    },
  }
}

interface Step {
  element: HTMLElement
  heading: HTMLElement
  fill(...parts: Child[]): void
}

function step(title: string, first: Child): Step {
  const heading = el('h3', { tabindex: -1 }, title)
  const body = el('div', { class: 'guide-body' }, first)
  return {
    element: el('li', { class: 'guide-step' }, heading, body),
    heading,
    fill: (...parts) => body.replaceChildren(...parts.filter((part) => part !== undefined && part !== false)),
  }
}

function keyForm(made: (rawKey: string) => void): HTMLElement {
  const slot = noticeSlot()
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: 'my-first-agent' },
  })
  const create = async (): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    made((await post('/account/api-keys', { name: said, sandbox: false }, newApiKeyShape)).raw_key)
  }
  return form(
    {},
    () => slot.attempt(create, { name }),
    name.row,
    slot.element,
    submitButton('Create your first API key'),
  )
}

function arrived(request: PendingRequest): Child[] {
  const { element, textId } = callerQuote(request.action)
  return [
    p('It is here. Look at it, and approve it with your passkey or code:'),
    element,
    link(`/a/${encodeURIComponent(request.id)}`, 'Look and approve', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  ]
}

function decided(): HTMLElement {
  return p('It is decided: that was your first. The caller reads the decision and its receipt.')
}
