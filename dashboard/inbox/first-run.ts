import type { PendingRequest } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, type Child, div, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { field, filled, form, NAME_LENGTH } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { makeKey } from '../keys/key-actions.ts'
import type { Key } from '../keys/key-shapes.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { section } from '../parts/section.ts'
import { requestPageShape } from '../requests/request-shapes.ts'

const POLL_MS = 5000

/** The way from nothing to the first checked receipt, all of it on the screen. */
export interface FirstRun {
  element: HTMLElement
  /** Takes what waits now: the third step follows it. */
  show(waiting: readonly PendingRequest[]): void
}

/**
 * The guide from its beginning, or from where the person left it; `ended` runs when it is through or put away.
 * @throws RequestFailure, ShapeError
 */
export async function startGuide([key]: readonly Key[], ended: () => void): Promise<FirstRun> {
  const guide = new Guide(ended)
  if (key !== undefined) guide.resume(key.sandbox, await latestDecided())
  return guide
}

/** The request of this account that was decided last. @throws RequestFailure, ShapeError */
async function latestDecided(): Promise<string | undefined> {
  for (const status of ['approved', 'rejected']) {
    const { data } = await get(`/account/requests?limit=1&status=${status}`, requestPageShape)
    if (data[0] !== undefined) return data[0].id
  }
  return undefined
}

/** Stands in commands for a key that is not shown again. */
const NAMED_KEY = '$COUNTERSIGN_KEY'

/** A key, a command, a decision, a receipt. */
class Guide implements FirstRun {
  readonly element: HTMLElement
  readonly #ask = step('Ask for an approval', 'The command to copy appears here, with your key in it.')
  readonly #decide = step('Approve it', 'The request appears here by itself, seconds after you asked.')
  readonly #check = step('Check the receipt', 'The signed proof of the decision, which anyone can verify.')
  readonly #key: Step
  /** What waited before: others may have asked this person, and the guide is about what their own key asks. */
  #before: ReadonlySet<string> | undefined
  #waiting: readonly PendingRequest[] = []
  #shown: string | undefined
  readonly #ended: () => void

  constructor(ended: () => void) {
    this.#ended = ended
    const part = section(
      'From an API key to a checked receipt, in four steps',
      'It takes a minute and a terminal. Afterwards your own agents and applications ask the same way.',
    )
    this.#key = step(
      'Create an API key',
      keyForm((rawKey, sandbox) => this.#made(rawKey, sandbox)),
    )
    const steps = [this.#key, this.#ask, this.#decide, this.#check]
    const close = (): void => {
      ended()
      part.element.remove()
    }
    part.body.append(
      el('ol', { class: 'guide' }, ...steps.map(({ element }) => element)),
      buttonRow(button('Hide this guide', 'quiet', close)),
    )
    this.element = part.element
  }

  /** Goes on where the person left: there is a key, and maybe a decision. */
  resume(sandbox: boolean, decided: string | undefined): void {
    this.#key.fill(
      p('You have a key. ', link('/keys', 'Make another'), ' if you did not keep it.'),
      command(`export COUNTERSIGN_KEY='sa_${sandbox ? 'test' : 'live'}_…'`, 'how a terminal keeps the key'),
    )
    this.#before = new Set()
    this.#toAsk(NAMED_KEY, sandbox)
    if (decided === undefined) this.#follow()
    else this.#end(decided)
  }

  show(now: readonly PendingRequest[]): void {
    this.#waiting = now
    const before = this.#before
    const first = before && now.find(({ id }) => !before.has(id))
    if (first === undefined || first.id === this.#shown) return
    this.#shown = first.id
    this.#decide.fill(...arrived(first))
  }

  #made(rawKey: string, sandbox: boolean): void {
    this.#before = new Set(this.#waiting.map(({ id }) => id))
    this.#key.fill(
      p('Your key. ', el('strong', {}, 'It is shown only this once'), ': copy it to a safe place.'),
      secretBox(rawKey, 'the API key'),
    )
    this.#toAsk(rawKey, sandbox)
    this.#follow()
    this.#ask.heading.focus()
    announce('Your key is made. Step 2: ask for an approval')
  }

  #toAsk(key: string, sandbox: boolean): void {
    this.#ask.fill(
      p('Run this in a terminal on this machine, or wherever this address can be reached:'),
      command(askCommand(key, location.origin), 'the command that asks for an approval'),
    )
    if (sandbox) this.#decide.fill(p('Nothing to do: a dry-run decides by itself after a few seconds.'))
  }

  #follow(): void {
    whileVisible(this.element, POLL_MS, async () => {
      const decided = await latestDecided().catch(() => undefined)
      if (decided !== undefined) this.#end(decided)
      return decided === undefined
    })
  }

  /** The guide is through as soon as the receipt is looked at. */
  #end(id: string): void {
    this.#decide.fill(p('It is decided.'))
    const check = link(`/verify#${encodeURIComponent(id)}`, 'Check the receipt', { class: 'button primary' })
    check.addEventListener('click', this.#ended)
    this.#check.fill(
      p('The page checks it in your browser; a program takes it from the answer of this call:'),
      command(
        `curl ${location.origin}/api/v1/approvals/${id} \\\n  -H "Authorization: Bearer ${NAMED_KEY}"`,
        'the command that reads the receipt',
      ),
      check,
    )
    if (this.element.isConnected) announce('It is decided. Step 4: check the receipt')
  }
}

interface Step {
  element: HTMLElement
  heading: HTMLElement
  fill(...parts: Child[]): void
}

function step(title: string, first: Child): Step {
  const heading = el('h3', { tabindex: -1 }, title)
  const body = div('guide-body', first)
  return {
    element: el('li', { class: 'guide-step' }, heading, body),
    heading,
    fill: (...parts) => body.replaceChildren(...parts.filter((part) => part !== undefined && part !== false)),
  }
}

function keyForm(made: (rawKey: string, sandbox: boolean) => void): HTMLElement {
  const slot = noticeSlot()
  const name = field({
    label: 'Name of the key',
    name: 'name',
    hint: 'Approvers see it as the one who asks.',
    attributes: { maxlength: NAME_LENGTH, autocomplete: 'off', required: true, value: 'my-first-agent' },
  })
  const create = async (sandbox: boolean): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    const answer = await makeKey({ name: said, sandbox })
    if (answer !== undefined) made(answer.raw_key, sandbox)
  }
  const trial = button('Create a sandbox key', 'quiet', () => slot.attempt(() => create(true), { name }), {
    'aria-describedby': SANDBOX_HINT,
  })
  return form(
    {},
    () => slot.attempt(() => create(false), { name }),
    name.row,
    slot.element,
    buttonRow(submitButton('Create your first API key'), trial),
    el(
      'p',
      { class: 'hint', id: SANDBOX_HINT },
      'No passkey or phone at hand, or only writing code? With a sandbox key a dry-run decides by itself and nobody is asked.',
    ),
  )
}

const SANDBOX_HINT = 'sandbox-hint'

function arrived(request: PendingRequest): Child[] {
  const { element, textId } = callerQuote(request.action)
  return [
    p('It is here. Look at it, and approve it with your passkey or code:'),
    element,
    link(`/a/${encodeURIComponent(request.id)}`, 'Review and approve', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  ]
}
