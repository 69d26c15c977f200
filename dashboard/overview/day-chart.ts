import { div, el } from '../../webauthn-page/kit/dom/element.ts'
import { ENDING_WORDS, type Endings, SERIES, shownNumber, sumOf } from './figures.ts'

const SVG = 'http://www.w3.org/2000/svg'

/** Units of the drawing; it is stretched to the width of the page. */
const HEIGHT = 100
const STEP = 10
const BAR = 8

/** A bar for each day, divided by how requests ended. The table below it says the same to those who do not see it. */
export function dayChart(days: readonly (Endings & { day: string })[]): HTMLElement {
  const most = Math.max(1, ...days.map(sumOf))
  const all = days.reduce((sum, day) => sum + sumOf(day), 0)
  const drawing = shape('svg', {
    ...{ viewBox: `0 0 ${days.length * STEP} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
    'aria-label': `${shownNumber(all)} requests in ${days.length} days, at most ${shownNumber(most)} in a day. The table below has every number.`,
  })
  drawing.append(...days.map((day, index) => bar(day, index, most)))
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? '']
  return div(
    'day-chart',
    el('span', { class: 'hint chart-top', 'aria-hidden': 'true' }, shownNumber(most)),
    wrapped(drawing),
    el('p', { class: 'hint chart-days', 'aria-hidden': 'true' }, el('span', {}, first), el('span', {}, last)),
  )
}

function wrapped(drawing: SVGElement): HTMLElement {
  const box = div('chart-box')
  box.append(drawing)
  return box
}

function bar(day: Endings & { day: string }, index: number, most: number): SVGElement {
  const group = shape('g', {})
  const title = shape('title', {})
  const said = SERIES.filter((ending) => day[ending] > 0).map(
    (ending) => `${ENDING_WORDS[ending].toLowerCase()} ${shownNumber(day[ending])}`,
  )
  title.textContent = `${day.day}: ${said.length === 0 ? 'no requests' : said.join(', ')}`
  // As high as the drawing, so that the pointer meets the day and not only its bar.
  group.append(
    title,
    shape('rect', { x: index * STEP, y: 0, width: STEP, height: HEIGHT, class: 'day-place' }),
  )
  let top = HEIGHT
  for (const ending of SERIES) {
    const height = (day[ending] / most) * HEIGHT
    top -= height
    if (height > 0)
      group.append(shape('rect', { x: index * STEP + 1, y: top, width: BAR, height, class: ending }))
  }
  return group
}

function shape(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  return made
}

/** What the colours of the chart stand for. */
export function legend(): HTMLElement {
  const items = SERIES.map((ending) =>
    el('li', {}, el('span', { class: `swatch ${ending}` }), ENDING_WORDS[ending]),
  )
  return el('ul', { class: 'chart-legend', 'aria-hidden': 'true' }, ...items)
}
