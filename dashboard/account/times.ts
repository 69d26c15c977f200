import { kept } from '../../webauthn-page/kit/dom/kept.ts'
import { chooseZone, chosenZone } from '../../webauthn-page/kit/dom/moment.ts'
import { type Choice, choiceField } from '../parts/fields.ts'
import { type Section, section } from '../parts/section.ts'
import { holdsUnsaved } from '../parts/unsaved.ts'

/** The choice of the time zone in which this browser writes times. */
export function timesSection(): HTMLElement {
  const exact = matchMedia('(hover: hover)').matches ? '; the exact time shows on hover' : ''
  const part = section('Times', `How times are shown in this browser. Lists say how long ago${exact}.`)
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const choices: Choice[] = [['', `The browser’s own (${own})`], ...zones()]
  const choice = choiceField({ label: 'Time zone', name: 'zone', choices, value: chosenZone() })
  applyAtOnce(part, choice.input, chooseZone)
  part.body.append(choice.row)
  return part.element
}

const THEMES: Choice[] = [
  ['', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The choice of the theme in this browser. `webauthn-page/kit/theme.js` reads it before a page is drawn. */
export function themeSection(): HTMLElement {
  const part = section('Theme', 'How pages look in this browser.')
  const value = kept('localStorage', 'theme') ?? ''
  const choice = choiceField({ label: 'Colours', name: 'theme', choices: THEMES, value })
  applyAtOnce(part, choice.input, (theme) => {
    if (theme === '') localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  })
  part.body.append(choice.row)
  return part.element
}

/** Stores a choice as soon as it is made. Pages read it only when they are loaded. */
function applyAtOnce(part: Section, input: HTMLSelectElement, store: (value: string) => void): void {
  input.addEventListener('change', () =>
    part.slot.attempt(() => {
      store(input.value)
      if (!holdsUnsaved(document)) return location.reload()
      part.slot.show('success', 'it applies once the page is reloaded. Save your input first.')
    }),
  )
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
