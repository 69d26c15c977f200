import { type Child, el, hint, link, p } from '../../webauthn-page/kit/dom/element.ts'
import { ago } from '../../webauthn-page/kit/dom/moment.ts'
import type { Similar } from '../../webauthn-page/kit/request/precedents.ts'
import { byName, SANDBOX_DECIDED } from '../../webauthn-page/kit/request/request-words.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { stateTag } from '../parts/rows.ts'
import { section } from '../parts/section.ts'

type Earlier = Similar['data'][number]

/**
 * Earlier requests of the same key for the same tool, their outcomes, and how this request differs; undefined if there are
 * none. An earlier approval says nothing about this request: it only helps to see what is new in it.
 */
export function similarSection(found: Similar | undefined): HTMLElement | undefined {
  if (found === undefined || found.data.length === 0) return undefined
  const part = section(
    'Asked before',
    'Up to three earlier requests of this key (of its last 50), for the same tool if one is named, and the differences.',
  )
  const rows = found.data.map((one) => earlierRow(one, found.names))
  part.body.append(el('ul', { class: 'earlier' }, ...rows))
  return part.element
}

function earlierRow(earlier: Earlier, names: Record<string, string>): HTMLElement {
  const { id, created_at, decision, differs, more } = earlier
  const open = link(`/a/${encodeURIComponent(id)}`, '')
  open.append(el('span', { class: 'inbox-action' }, callerText(earlier.action)))
  const who: Child[] =
    decision === undefined
      ? []
      : decision.method === 'sandbox'
        ? [` · ${SANDBOX_DECIDED}`]
        : [' · ', byName(names)(decision.approver)]
  const said =
    differs.length === 0 ? hint('This request is exactly the same.') : el('dl', { class: 'differs' })
  for (const { field, before, now } of differs)
    said.append(
      el(
        'div',
        {},
        el('dt', {}, callerText(field)),
        el('dd', {}, el('del', {}, valueOr(before)), ' ', el('ins', {}, valueOr(now))),
      ),
    )
  return el(
    'li',
    {},
    p(stateTag(earlier), ' ', ago(created_at), ...who),
    open,
    said,
    more > 0 && hint(`${more} more fields differ.`),
  )
}

function valueOr(text: string | undefined): HTMLElement {
  return text === undefined ? el('em', {}, 'not there') : callerText(text)
}
