import { chooseZone, chosenZone } from '../../webauthn-page/kit/dom/moment.ts'
import { type Choice, choiceField } from '../parts/fields.ts'
import { section } from '../parts/section.ts'
import { holdsUnsaved } from '../parts/unsaved.ts'

/** The choice of the time zone in which this browser writes times. */
export function timesSection(): HTMLElement {
  const exact = matchMedia('(hover: hover)').matches ? '; the exact time shows on hover' : ''
  const part = section('Times', `How times are shown in this browser. Lists say how long ago${exact}.`)
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const choices: Choice[] = [['', `The browser’s own (${own})`], ...zones()]
  const choice = choiceField({ label: 'Time zone', name: 'zone', choices, value: chosenZone() })
  choice.input.addEventListener('change', () =>
    part.slot.attempt(() => {
      chooseZone(choice.input.value)
      // The formatters read the zone only when a page is loaded.
      if (!holdsUnsaved(document)) return location.reload()
      part.slot.show('success', 'it applies once the page is reloaded. Save your input first.')
    }),
  )
  part.body.append(choice.row)
  return part.element
}

/** The time zones that the browser knows, grouped by continent. */
export function zones(): Choice[] {
  const groups = new Map<string, [string, string][]>()
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const [group = '', ...place] = zone.split('/')
    if (place.length === 0) continue
    const label = place.join(', ').replaceAll('_', ' ')
    groups.set(group, [...(groups.get(group) ?? []), [zone, label]])
  }
  return [['UTC', 'UTC'], ...[...groups].map(([group, choices]) => ({ group, choices }))]
}
