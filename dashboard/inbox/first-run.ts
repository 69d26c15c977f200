import { get } from '../../webauthn-page/kit/api/request.ts'
import { button, buttonRow, submitButton } from '../../webauthn-page/kit/dom/button.ts'
import { announce, type Child, div, el, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { filled, form, nameField } from '../../webauthn-page/kit/dom/form.ts'
import { noticeSlot } from '../../webauthn-page/kit/dom/notice.ts'
import { whileVisible } from '../../webauthn-page/kit/dom/while-visible.ts'
import { callerQuote } from '../../webauthn-page/kit/show/caller-text.ts'
import { makeKey } from '../keys/key-actions.ts'
import type { Key } from '../keys/key-shapes.ts'
import { askCommand, command, secretBox } from '../parts/secret-box.ts'
import { section } from '../parts/section.ts'
import { type RequestRow, requestPageShape } from '../requests/request-shapes.ts'

const POLL_MS = 5000

/** The state of the guide that the browser keeps. */
interface Memory {
  /** Records the key that the guide follows from now on. */
  follows(keyId: string): void
  /** Records that the guide is complete, or was hidden. */
  ended(): void
}

/**
 * Builds the guide to the first checked receipt: all steps, or only the last one once a request of the key is decided.
 * Only requests of `key` count: the account's other requests do not belong to the guide.
 * @throws RequestFailure, ShapeError
 */
export async function startGuide(key: Key | undefined, memory: Memory): Promise<Guide> {
  const guide = new Guide(memory)
  if (key !== undefined) guide.resume(key, await requestOf(key.id))
  return guide
}

/** Reads the key's latest decided request, or else its latest request. @throws RequestFailure, ShapeError */
async function requestOf(keyId: string): Promise<RequestRow | undefined> {
  const path = `/account/requests?limit=20&key=${encodeURIComponent(keyId)}`
  const { data } = await get(path, requestPageShape)
  return data.find(isDecided) ?? data[0]
}

function isDecided({ status }: RequestRow): boolean {
  return status === 'approved' || status === 'rejected'
}

/** Stands in commands for a key that is not shown again. */
const NAMED_KEY = '$COUNTERSIGN_KEY'

/** The guide, in four steps: a key, a command, a decision, a receipt. */
export class Guide {
  readonly #ask = step('Make a request', 'The command to copy appears here, with your key in it.')
  readonly #decide = step('Approve it', 'The request appears here automatically, within seconds.')
  readonly #check = step('Check the receipt', 'The signed proof of the decision, which anyone can verify.')
  readonly #key: Step
  readonly #memory: Memory
  readonly #part = section(
    'From an API key to a checked receipt, in four steps',
    'It takes a minute and a terminal. Your agents and applications then do the same.',
  )
  /** The raw key while it is on the screen, for the only time. */
  #rawKey: string | undefined
  /** Restores the commands of the steps that were shortened. */
  #again: (() => void) | undefined
  #shown = ''
  #settle: () => void = () => {}
  /** Settles once a request of the guide's key is decided. */
  readonly decided = new Promise<void>((resolve) => {
    this.#settle = resolve
  })
  /** Looks at once for a request of the guide's key: to be called when a new request waits. */
  look = (): void => {}

  constructor(memory: Memory) {
    this.#memory = memory
    this.#key = step(
      'Create an API key',
      keyForm((rawKey, key) => this.#made(rawKey, key)),
    )
    const steps = [this.#key, this.#ask, this.#decide, this.#check]
    this.#part.body.append(
      el('ol', { class: 'guide' }, ...steps.map(({ element }) => element)),
      buttonRow(this.#hide('Hide this guide')),
    )
  }

  get element(): HTMLElement {
    return this.#part.element
  }

  #hide(label: string): HTMLElement {
    return button(label, 'quiet', () => {
      this.#memory.ended()
      this.element.remove()
      const heading = document.querySelector('h1')
      heading?.setAttribute('tabindex', '-1')
      heading?.focus({ preventScroll: true })
    })
  }

  /** Continues where the person left off: with a key, and maybe a request. */
  resume(key: Key, latest: RequestRow | undefined): void {
    this.#again = () => {
      this.#key.fill(
        p('You have a key. ', link('/keys', 'Make another'), ' if you did not keep it.'),
        command(
          `export COUNTERSIGN_KEY='sa_${key.sandbox ? 'test' : 'live'}_…'`,
          'the command that sets the key in a terminal',
        ),
      )
      this.#toAsk(NAMED_KEY, key)
    }
    this.#again()
    if (latest === undefined || this.#take(latest)) this.#follow(key.id)
  }

  #made(rawKey: string, key: Pick<Key, 'id' | 'sandbox'>): void {
    this.#rawKey = rawKey
    this.#memory.follows(key.id)
    this.#key.fill(
      p('Your key. ', el('strong', {}, 'It is shown only once'), ': copy it to a safe place.'),
      secretBox(rawKey, 'the API key'),
    )
    this.#again = () => this.#toAsk(rawKey, key)
    this.#again()
    this.#follow(key.id)
    this.#ask.heading.focus()
    announce('Your key is made. Step 2: make a request')
  }

  #toAsk(rawKey: string, { sandbox }: Pick<Key, 'sandbox'>): void {
    this.#ask.fill(
      p('Run this in a terminal on this machine, or wherever this address can be reached:'),
      command(askCommand(rawKey, location.origin), 'the command that makes a request'),
    )
    if (sandbox)
      this.#decide.fill(p('Nothing to do: a dry-run is decided automatically after a few seconds.'))
  }

  #follow(keyId: string): void {
    this.look = whileVisible(this.element, POLL_MS, async () => {
      const latest = await requestOf(keyId).catch(() => undefined)
      return latest === undefined || this.#take(latest)
    })
  }

  /** @returns whether the guide still waits for a decision */
  #take(request: RequestRow): boolean {
    const { id, status, sandbox } = request
    const decided = isDecided(request)
    if (decided) this.#end(id)
    else if (sandbox === undefined && this.#shown !== id + status) {
      this.#shown = id + status
      const pending = status === 'pending'
      const focused = this.element.querySelector('.guide-body :focus')
      if (pending) this.#shrink()
      else this.#again?.()
      this.#decide.fill(...(pending ? arrived(request) : ENDED))
      if (focused?.isConnected === false) this.#decide.heading.focus()
    }
    return !decided
  }

  /** Shortens the first steps, so that the request is in sight. A raw key stays: it is not shown again. */
  #shrink(): void {
    if (this.#rawKey === undefined) this.#key.fill(p('You have a key.'))
    this.#ask.fill(p('Your request was made.'))
  }

  /** Shows the last step, until the person hides it. */
  #end(id: string): void {
    this.#settle()
    const check = link(`/verify#${encodeURIComponent(id)}`, 'Check the receipt', {
      class: 'button primary quiet',
    })
    if (this.element.isConnected) announce('Your request is decided. Step 4: check the receipt')
    if (this.#rawKey !== undefined) this.#shrinkAround(id, check, this.#rawKey)
    else {
      const labelled = this.element.getAttribute('aria-labelledby') ?? ''
      const heading = el('h2', { id: labelled }, 'Your request is decided')
      this.element.classList.add('account-head')
      this.element.replaceChildren(heading, buttonRow(check, this.#hide('Hide')))
    }
  }

  #shrinkAround(id: string, check: HTMLElement, rawKey: string): void {
    this.#ask.fill(p('Your request was made.'))
    this.#decide.fill(p('Your request is decided.'))
    this.#check.fill(
      p('The page checks it in your browser; a program gets it from the answer of this call:'),
      command(
        `curl ${location.origin}/api/v1/approvals/${id} \\\n  -H "Authorization: Bearer ${rawKey}"`,
        'the command that reads the receipt',
      ),
      check,
    )
  }
}

const ENDED = [p('The request ended without a decision. Make another one: run the command of step 2 again.')]

type Step = ReturnType<typeof step>

function step(title: string, first: Child) {
  const heading = el('h3', { tabindex: -1 }, title)
  const body = div('guide-body', first)
  return {
    element: el('li', { class: 'guide-step' }, heading, body),
    heading,
    fill: (...parts: Child[]) =>
      body.replaceChildren(...parts.filter((part) => part !== undefined && part !== false)),
  }
}

function keyForm(made: (rawKey: string, key: Pick<Key, 'id' | 'sandbox'>) => void): HTMLElement {
  const slot = noticeSlot()
  const name = nameField('Name of the key', 'Approvers see it as “Requested by”.', {
    required: true,
    value: 'my-first-agent',
  })
  const create = async (sandbox: boolean): Promise<void> => {
    const said = filled(name, 'Give the key a name.')
    if (said === undefined) return
    const answer = await makeKey({ name: said, sandbox })
    if (answer !== undefined) made(answer.raw_key, answer.key)
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
      'If you have no passkey or phone at hand, or only write code: with a sandbox key a dry-run is decided automatically and no one is notified.',
    ),
  )
}

const SANDBOX_HINT = 'sandbox-hint'

function arrived(request: Pick<RequestRow, 'id' | 'action'>): Child[] {
  const { element, textId } = callerQuote(request.action)
  return [
    p('Review it, and approve it with your passkey or code:'),
    element,
    link(`/a/${encodeURIComponent(request.id)}`, 'Review and approve', {
      class: 'button primary',
      'aria-describedby': textId,
    }),
  ]
}
