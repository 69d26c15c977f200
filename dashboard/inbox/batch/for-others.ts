import { type Child, el } from '../../../webauthn-page/kit/dom/element.ts'
import type { CheckedReview } from '../../../webauthn-page/kit/request/checked-review.ts'
import { callerText } from '../../../webauthn-page/kit/show/caller-text.ts'

/** Says beside the button whose votes these are, where the person stands in for others; undefined where for nobody. */
export function forOthers(items: readonly CheckedReview[]): HTMLElement | undefined {
  const others = new Map<string, { name: string; count: number }>()
  for (const { review } of items) {
    const other = review.on_behalf_of ?? undefined
    if (other === undefined) continue
    others.set(other.approver, { name: other.name, count: (others.get(other.approver)?.count ?? 0) + 1 })
  }
  if (others.size === 0) return undefined
  const named = [...others.values()].flatMap(({ name, count }, index): Child[] => [
    index > 0 && ', ',
    el('strong', {}, callerText(name)),
    count < items.length && ` (${count} of ${items.length})`,
  ])
  return el('p', { class: 'deciding-for' }, 'You decide for ', ...named, '.')
}
