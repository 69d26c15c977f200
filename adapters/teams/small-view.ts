import type { CardView } from '../../src/domain/card-view.ts'

/** Characters of the action that surely fit. */
const ACTION = 500

/** The same card for a message that was refused for its size: says what it leaves out, and where that stands. */
export function smallView(view: CardView): CardView {
  const letters = [...view.action]
  const cut = letters.length - ACTION
  const left = {
    label: 'Context',
    known: true,
    text: 'Too large for Teams; it is on the approval page.',
    code: false,
  }
  return {
    ...view,
    action:
      cut > 0 ? `${letters.slice(0, ACTION).join('')} … ${cut} more characters, not shown here` : view.action,
    rows: view.rows.length === 0 && view.findings.length === 0 ? [] : [left],
    findings: [],
  }
}
