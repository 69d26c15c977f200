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
  const choices: Choice[] = [['', `The browser’s own (${RENAMED[own] ?? own})`], ...zones()]
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

/** Names of today for those that browsers still write in an older way. */
const RENAMED: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Godthab': 'America/Nuuk',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

/** The time zones that the browser knows, grouped by continent, each under its name of today. */
export function zones(): Choice[] {
  const groups = new Map<string, [string, string][]>()
  const known = Intl.supportedValuesOf('timeZone')
  const named = known.map((zone) => [zone, RENAMED[zone] ?? zone] as const)
  for (const [zone, name] of named.sort(([, a], [, b]) => a.localeCompare(b))) {
    const [group = '', ...place] = name.split('/')
    if (place.length === 0 || (name !== zone && known.includes(name))) continue
    const label = place.join(', ').replaceAll('_', ' ')
    groups.set(group, [...(groups.get(group) ?? []), [zone, label]])
  }
  return [['UTC', 'UTC'], ...[...groups].map(([group, choices]) => ({ group, choices }))]
}
