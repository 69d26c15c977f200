import type { Attachment, Review } from '../api/contract.ts'
import { button } from '../dom/button.ts'
import { type Child, div, el, kind } from '../dom/element.ts'
import { notice, sentenceOf } from '../dom/notice.ts'
import { callerText, textWarnings } from '../show/caller-text.ts'
import { OPENED } from './checked-review.ts'

/** Lists what the caller attached, for the caller's frame. Each is fetched when a person opens it, and counts as opened then. */
export function attachmentList({ id, attachments }: Review): HTMLElement | false {
  return (
    attachments !== undefined &&
    div(
      'attachments',
      el('h3', {}, 'Attachments ', kind('supplied by caller')),
      ...attachments.map((_, index) => attachment(id, attachments, index)),
    )
  )
}

const KINDS = { text: 'text', diff: 'changes', image: 'image', file: 'file, not shown' }

function attachment(id: string, all: Attachment[], index: number): HTMLElement {
  const one = all[index]
  if (one === undefined) return el('p')
  const view = div('attachment-view')
  const size = `${KINDS[one.kind]}, ${one.bytes.toLocaleString('en')} bytes`
  const fold = el(
    'details',
    { class: 'attachment' },
    el('summary', {}, callerText(one.name), ' ', kind(size)),
    ...textWarnings(one.name),
    view,
  )
  const load = async (): Promise<void> => {
    view.replaceChildren(el('p', { class: 'loading' }, 'Loading…'))
    try {
      const { showAttachment } = await import('../show/attachment-view.ts')
      const shown = await showAttachment(id, all, index, () => document.dispatchEvent(new Event(OPENED)))
      view.replaceChildren(...shown)
    } catch (error) {
      view.replaceChildren(notice('failed', sentenceOf(error)), button('Try again', 'quiet', load))
    }
  }
  fold.addEventListener('toggle', () => {
    if (fold.open && view.childElementCount === 0) void load()
  })
  return fold
}

/** Says at the buttons how many attachments of these requests were not opened. */
export function unopenedNote(reviews: readonly Review[]): Child {
  const all = reviews.flatMap(({ attachments = [] }) => attachments)
  if (all.length === 0) return undefined
  const element = el('p', { class: 'unopened' })
  const say = (): void => {
    const left = all.filter(({ opened }) => !opened).length
    element.textContent = `${left === 1 ? '1 attachment' : `${left} attachments`} not opened`
    element.hidden = left === 0
  }
  document.addEventListener(OPENED, say)
  say()
  return element
}
