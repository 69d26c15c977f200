import type { nextStepsAnswer } from '../../src/http/api/profile.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { okShape } from '../../webauthn-page/kit/api/contract.ts'
import { get, patch } from '../../webauthn-page/kit/api/request.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'
import { button, buttonRow } from '../../webauthn-page/kit/dom/button.ts'
import { announce, type Child, div, el, folded, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { installHint, wayToInstall } from '../account/push.ts'
import { entry, tag } from '../parts/rows.ts'
import { agentCode, command, INSTALL_CLIENT } from '../parts/secret-box.ts'
import { section } from '../parts/section.ts'
import { refusingPolicy } from '../settings/policy-warnings.ts'
import { isOwned } from '../shell/account-view.ts'
import type { PageContext } from '../shell/page-entry.ts'
import { showBadge } from './badge.ts'

// In this file for its size: each one more that may load has a name in the first.
export { consentsSection, tellOffers } from './invitations.ts'

type Steps = Answer<typeof nextStepsAnswer>
const stepsShape = answer<Steps>()

interface Step {
  name: string
  /** What it is good for. */
  why: string
  /** Where it is done, and the words of that link. */
  way?: readonly [path: string, words: string]
  /** By the state of the service; undefined where only the browser could know. */
  done: boolean | undefined
  more?: HTMLElement
}

/** What stands below the inbox: it loads late, so each part goes below those that are there, and moves nothing. */
export class BelowInbox {
  readonly #context: PageContext
  readonly #place = div('inbox')
  #lately: HTMLElement | undefined
  #reading = Promise.resolve()
  #before = 1

  constructor(context: PageContext) {
    this.#context = context
  }

  /** Shows the number of pending requests on the icon and, each time there are none any more, what was decided lately. */
  listed(count: number): void {
    showBadge(count, this.#context.signal)
    const emptied = count === 0 && this.#before > 0 && this.#context.account.role !== 'none'
    this.#before = count
    if (emptied) this.#reading = this.#readLately().catch(() => {})
  }

  async #readLately(): Promise<void> {
    const { decidedLately } = await import('../requests/requests-page.ts')
    const lately = await decidedLately(this.#context)
    if (lately === undefined) return
    if (this.#lately === undefined) this.#place.append(lately)
    else this.#lately.replaceWith(lately)
    this.#lately = lately
  }

  /** Adds all that concerns the person. @param guided settles when the guide to the first receipt needs no room any more */
  async fill(scene: HTMLElement, guided: Promise<void> | undefined): Promise<void> {
    const { account, href } = this.#context
    if (account.role === 'none') return
    scene.append(this.#place)
    const owns = isOwned(account)
    const phone = matchMedia('(hover: none) and (display-mode: browser)').matches
    const add = (...parts: Child[]): void => this.#place.append(...parts.map((part) => part || ''))
    // An approver may have left, so that the policy refuses every request.
    if (owns) void refusingPolicy(href).then((trouble) => add(...trouble))
    // An owner's steps do not name the home screen.
    if (phone && owns) add(installHint())
    await Promise.all([guided, this.#reading])
    const steps = await nextStepsSection(this.#context).catch(() => undefined)
    add(steps)
    if (phone && !owns && steps === undefined) add(installHint())
  }
}

/**
 * The list of what is left to set up, for an owner after the first decision, and for others from the beginning; undefined once all is
 * done or the person hid it. @throws RequestFailure, ShapeError
 */
export async function nextStepsSection(context: PageContext): Promise<HTMLElement | undefined> {
  const found = await get(context.ofAccount('/me/next-steps'), stepsShape)
  const { hidden, owner } = found
  if (hidden || owner?.first_decision === false) return undefined
  const steps = owner === undefined ? approversSteps(found) : ownersSteps(found, owner)
  const counted = steps.filter(({ done }) => done !== undefined)
  const count = counted.filter(({ done }) => done === true).length
  if (count === counted.length) return undefined
  const part = section('Next steps', `${count} of ${counted.length} are done.`)
  const hide = async (): Promise<void> => {
    await patch('/me', { next_steps_hidden: true }, okShape)
    part.element.remove()
    announce('The next steps are hidden')
    const heading = document.querySelector('h1')
    heading?.setAttribute('tabindex', '-1')
    heading?.focus({ preventScroll: true })
  }
  part.body.append(
    el('ul', { class: 'entries' }, ...steps.map((step) => row(step, context))),
    buttonRow(button('Hide this list', 'quiet', () => part.slot.attempt(hide))),
  )
  return part.element
}

function row({ name, why, way, done, more }: Step, { href }: PageContext): HTMLElement {
  if (done === true) return entry([name, tag('Done', 'live')], [])
  const about: Child[] = [hint(why), more]
  return entry([name], about, way && link(href(way[0]), way[1], { class: 'button quiet' }))
}

function passkeyStep({ second_passkey: done }: Steps): Step {
  const why = 'If you lose the device that holds the only one, you cannot sign in.'
  return { name: 'A second passkey', why, way: ['/account', 'Add a passkey'], done }
}

function toldStep({ told: done }: Steps): Step {
  const why = 'Requests expire: a browser, a phone or a mail tells you in time.'
  return { name: 'Notifications', why, way: ['/account', 'Turn on notifications'], done }
}

function approversSteps(steps: Steps): Step[] {
  const words = wayToInstall()
  const home: Step[] =
    words === undefined ? [] : [{ name: 'Countersign on the home screen', why: words, done: undefined }]
  return [toldStep(steps), ...home, passkeyStep(steps)]
}

/** An approver who joined is asked nothing in their own name until the policy names them. */
function secondPersonStep({ member: done, member_unnamed }: NonNullable<Steps['owner']>): Step {
  const name = 'A second person'
  if (member_unnamed) {
    const why = 'An approver joined, but the policy does not name them as one who decides.'
    return { name, why, way: ['/settings', 'Name them in the policy'], done }
  }
  const why = 'An approver decides beside you, or while you are away.'
  return { name, why, way: ['/members', 'Invite a person'], done }
}

function ownersSteps(steps: Steps, owner: NonNullable<Steps['owner']>): Step[] {
  return [
    passkeyStep(steps),
    toldStep(steps),
    secondPersonStep(owner),
    {
      name: 'The policy',
      why: 'It says who decides, how many must approve, and with what. Now you alone decide, by any factor.',
      way: ['/settings', 'Set the policy'],
      done: owner.policy,
    },
    {
      name: 'Slack, Teams or e-mail',
      why: 'Requests arrive where you work; they are decided here. You turn on e-mail under Account.',
      way: ['/integrations', 'Connect a chat'],
      done: owner.chat_or_mail,
    },
    {
      name: 'Your agent uses an approval',
      why: 'With the client, a function runs only after a person approved, and at most once.',
      way: ['/keys', 'Create a key for it'],
      done: owner.approval_used,
      more: agentSteps(),
    },
  ]
}

function agentSteps(): HTMLElement {
  return folded(
    'Show the code',
    p('The client is not published. Make it in your copy of Countersign’s repository, and install it:'),
    command(INSTALL_CLIENT, 'the commands that install the client'),
    p('As ', el('code', {}, 'agent.ts'), ', with the key in ', el('code', {}, 'COUNTERSIGN_KEY'), ':'),
    command(agentCode(location.origin), 'the code of an agent'),
  )
}
