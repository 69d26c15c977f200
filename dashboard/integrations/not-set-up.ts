import { el } from '../../webauthn-page/kit/dom/element.ts'

/** What to do when the operator has not connected a platform. */
export function notSetUp(platform: string, heading: string, path: string): HTMLElement {
  return el(
    'div',
    { class: 'not-set-up' },
    el(
      'p',
      {},
      `${platform} is not set up on this service. Whoever runs it can connect it with a few settings.`,
    ),
    el(
      'p',
      { class: 'hint' },
      `The README of Countersign says how, under “${heading}”; the details are in `,
      el('code', {}, path),
      '.',
    ),
  )
}
