import { el } from '../dom/element.ts'

/** How a page writes a person. The service tells the reference; a page that knows the name adds it. */
export type WritePerson = (reference: string) => HTMLElement

/** As it stands in receipts. */
export const byReference: WritePerson = (reference) => el('span', { class: 'mono' }, reference)
