import { type Proof, proofShape } from '../api/contract.ts'
import { get, refusedWith } from '../api/request.ts'
import { button, buttonRow, saveAs } from '../dom/button.ts'
import { announce, div, el, facts, hint, kind, link } from '../dom/element.ts'
import { moment } from '../dom/moment.ts'
import { noticeSlot } from '../dom/notice.ts'

/** A witness signs within seconds, or is away: who waits longer reloads the page. */
const LOOKS = 30

/**
 * How far the log has the decision of a request, and the file of everything that proves it. `look` loads both; it resolves to false
 * once nothing more is awaited.
 */
export function decisionProof(id: string): { element: HTMLElement; look: () => Promise<boolean> } {
  const slot = noticeSlot()
  const state = div('log-state', el('p', { class: 'loading' }, 'Loading…'))
  const about = hint(
    'One file with the receipt and everything that proves it. Keep it as it is: anybody can check it without this service.',
  )
  let said: string | undefined
  const show = (proof: Proof): void => {
    const words = wordsOf(proof)
    if (said !== undefined && said !== words.state) announce(`Log: ${words.state}`)
    said = words.state
    state.replaceChildren(...stateView(proof, words))
    if (proof.bundle !== undefined) return
    about.textContent = 'The texts were erased, so there is no file. The receipt can still be checked.'
    save.remove()
  }
  const load = async (): Promise<Proof> => {
    const proof = await get(`/approvals/${encodeURIComponent(id)}/proof`, proofShape)
    show(proof)
    return proof
  }
  const save = button('Download the receipt', 'quiet', () =>
    slot.attempt(async () => {
      // Loaded anew: the log may have it by now.
      const { bundle } = await load()
      if (bundle !== undefined) saveAs('countersign.receipt.json', 'application/json', bundle)
    }),
  )
  const element = div(
    'log-state',
    state,
    slot.element,
    buttonRow(
      save,
      button('Print', 'quiet', () => print()),
    ),
    about,
  )
  let looks = 0
  const look = async (): Promise<boolean> => {
    looks += 1
    const failed = (error: unknown): boolean => {
      if (said === undefined) state.replaceChildren(hint('The state of the log could not be loaded.'))
      return !refusedWith(['not_signed_in', 'not_found'], error)
    }
    return (await load().then(isOpen, failed)) && looks < LOOKS
  }
  return { element, look }
}

function isOpen({ log, awaited }: Proof): boolean {
  return log === 'waiting' || ((log === 'logged' || log === 'witnessed') && awaited.length > 0)
}

/** The state in a few words, and what it means. */
function wordsOf({ log, awaited }: Proof): { state: string; means: string } {
  switch (log) {
    case 'waiting':
      return { state: 'Not in the log yet', means: 'It takes about two seconds.' }
    case 'stopped':
      return {
        state: 'The log is stopped',
        means:
          'The service was restored from a backup, so its log signs nothing until the operator begins the next one (log_rolled_back). The receipt is valid without it.',
      }
    case 'before_log':
      return {
        state: 'Older than the log',
        means: 'The service had no log at the time of this decision. The receipt is valid without it.',
      }
    case 'logged':
      return {
        state: 'In the log',
        means: `${GROWS}${awaited.length > 0 ? ' No witness has signed it yet.' : ''}`,
      }
    case 'witnessed':
      return {
        state: 'In the log, witnessed',
        means:
          'Others than this service have signed that the log has it. Without them it can neither be taken back nor be hidden.',
      }
  }
}

const GROWS = 'The log only grows: whoever has a copy of it sees if this decision is taken back.'

function stateView(
  { index, size, witnesses }: Proof,
  { state, means }: ReturnType<typeof wordsOf>,
): HTMLElement[] {
  const by = witnesses.map(({ name, at }) =>
    el('p', {}, el('bdi', { class: 'mono' }, name), ' on ', moment(at)),
  )
  return [
    facts(
      ['Log', el('strong', {}, state), ' ', index !== undefined && kind(`entry ${index + 1} of ${size}`)],
      by.length === 0 ? undefined : ['Witnessed by', ...by],
    ),
    hint(means, ' ', link('/docs#getLog', 'About the log')),
  ]
}
