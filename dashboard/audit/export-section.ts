import { type Child, el, link } from '../../webauthn-page/kit/dom/element.ts'
import { type Filters, forService, withFilters } from '../parts/filters.ts'
import { section } from '../parts/section.ts'

/** Downloads of everything the filters find, not only of what is shown. `address` is the export of the chosen account. */
export function exportSection(address: string, filters: Filters, everything: boolean): HTMLElement {
  const part = section(
    'Take it with you',
    filters.size === 0
      ? `Every entry ${everything ? 'of this account' : 'that you may see'}, in one file.`
      : 'Every entry these filters find, not only those shown here, in one file.',
  )
  const download = (format: 'ndjson' | 'csv', label: string): HTMLElement =>
    link(withFilters(address, [['format', format], ...forService(filters)]), label, {
      class: 'button plain',
      download: true,
    })
  part.body.append(
    el(
      'div',
      { class: 'buttons' },
      download('ndjson', 'Download as NDJSON'),
      download('csv', 'Download as CSV'),
    ),
    el('p', {}, ...holds()),
    el('p', { class: 'hint' }, ...howToCheck()),
  )
  return part.element
}

function holds(): Child[] {
  return [
    'Each entry has its number in the trail, id, type, time, who did it and from where, what it is about, the details, and ',
    'the hash that ties it to everything before it. NDJSON is one entry a line, for programs; CSV opens in a spreadsheet, ',
    'and no cell of it can start a formula.',
  ]
}

function howToCheck(): Child[] {
  return [
    'Whoever runs the service can prove that nothing was changed since: ',
    el('code', {}, 'npx countersign audit check --expect <seq>:<hash>'),
    ', with number and hash of an entry in the file.',
  ]
}
