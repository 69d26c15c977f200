import type { accountAnswer } from '../../src/http/api/account.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'
import { pendingShape, waitingConsentsShape } from '../../webauthn-page/kit/api/contract.ts'
import { get } from '../../webauthn-page/kit/api/request.ts'
import { answer } from '../../webauthn-page/kit/api/shape.ts'
import { type Child, div, el, folded, hint, lede, link } from '../../webauthn-page/kit/dom/element.ts'
import { ago, duration } from '../../webauthn-page/kit/dom/moment.ts'
import { notice } from '../../webauthn-page/kit/dom/notice.ts'
import { callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import { showBadge } from '../inbox/badge.ts'
import { nextStepsSection } from '../inbox/next-steps.ts'
import { section } from '../parts/section.ts'
import { type Overview, overviewShape } from '../requests/request-shapes.ts'
import type { PageContext, PageView } from '../shell/page-entry.ts'

type Account = Answer<typeof accountAnswer>

const accountShape = answer<Account>()

/** Numbers of requests by how they ended. */
type Endings = Overview['total']
type Ending = keyof Endings

/** The order of a bar's parts from below, and of the columns. */
const SERIES: readonly Ending[] = ['approved', 'rejected', 'expired', 'withdrawn', 'pending']

const ENDING_WORDS: Record<Ending, string> = {
  approved: 'Approved',
  rejected: 'Rejected',
  expired: 'Expired',
  withdrawn: 'Withdrawn',
  pending: 'Pending',
}

function sumOf(endings: Endings): number {
  return SERIES.reduce((sum, ending) => sum + endings[ending], 0)
}

const numbers = new Intl.NumberFormat()
const shares = new Intl.NumberFormat(undefined, { style: 'percent' })

/** A whole number in the reader's own way of writing. */
function shownNumber(value: number): string {
  return numbers.format(value)
}

/** A share in percent; a dash where there is nothing to share. */
function shownShare(part: number, all: number): string {
  return all === 0 ? '–' : shares.format(part / all)
}

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** A day of UTC, as the service counts them. */
function shownDay(day: string): string {
  return dates.format(new Date(day))
}

/** The periods that can be looked at, in days. */
const PERIODS = [7, 30, 90] as const

/** `/overview`: how the requests of the account went, for its owner and its auditors. */
export async function overviewPage(context: PageContext): Promise<PageView> {
  const { ofAccount, query } = context
  const days = PERIODS.find((period) => String(period) === query.get('days')) ?? 30
  const path = ofAccount('/account/overview')
  const [figures, account, waiting, consents, steps] = await Promise.all([
    get(`${path}${path.includes('?') ? '&' : '?'}days=${days}`, overviewShape),
    get(ofAccount('/account'), accountShape),
    get('/me/pending', pendingShape),
    get('/account/bootstrap', waitingConsentsShape),
    // The page is complete without it.
    nextStepsSection(context).catch(() => undefined),
  ])
  showBadge(waiting.data.length, context.signal)
  const scene = div(
    'overview',
    el('h1', {}, 'Overview'),
    lede('How live requests went, by the day (UTC) on which they were made.'),
    waitingLine(waiting, consents.data.length),
    periods(days, context),
    ...troubles(figures, account, context),
    keyFigures(figures, context),
    steps,
    byDay(figures),
    byKey(figures, context),
    byApprover(figures, context),
    byReason(figures),
  )
  return { title: 'Overview', scene, wide: true }
}

/**
 * Leads to the inbox while something waits there for the person who looks; nothing else does on the page that owners begin with.
 * @param others how many requests for an API key wait
 */
function waitingLine(
  { data, next_cursor }: ReturnType<typeof pendingShape>,
  others: number,
): HTMLElement | undefined {
  if (data.length + others === 0) return undefined
  const count = `${shownNumber(data.length)}${next_cursor === null ? '' : '+'}`
  const requests = `${count} ${data.length === 1 ? 'request waits' : 'requests wait'} for you`
  const questions = `${shownNumber(others)} ${others === 1 ? 'agent asks' : 'agents ask'} for an API key`
  const said = data.length > 0 ? requests : questions
  return notice('info', link('/', said), '.')
}

function periods(shown: number, { href }: PageContext): HTMLElement {
  const links = PERIODS.map((days) => {
    const path = href('/overview')
    const address = `${path}${path.includes('?') ? '&' : '?'}days=${days}`
    return link(address, `${days} days`, { 'aria-current': days === shown && 'true' })
  })
  return el('nav', { class: 'periods', 'aria-label': 'Period' }, ...links)
}

/** From this share of the quota on, it is pointed out. */
const NEARLY_ALL = 0.8

function troubles(figures: Overview, { quota }: Account, { href, account }: PageContext): HTMLElement[] {
  const { dead_letters: dead, chats_in_trouble: chats } = figures
  // Auditors have no page of integrations.
  const see = (): Child[] =>
    account.role === 'owner' ? [' ', link(href('/integrations'), 'Open Integrations'), '.'] : []
  const found: Child[][] = []
  if (dead > 0)
    found.push([`${dead < 100 ? dead : 'At least 100'} callbacks or events were given up.`, ...see()])
  if (chats > 0)
    found.push([
      `${chats} ${chats === 1 ? 'workspace or channel accepts' : 'workspaces or channels accept'} no messages.`,
      ...see(),
    ])
  if (quota.limit > 0 && quota.used >= NEARLY_ALL * quota.limit)
    found.push([
      `${shownNumber(quota.used)} of ${shownNumber(quota.limit)} requests of this month’s quota are used.`,
    ])
  return found.map((said) => notice('warning', ...said))
}

function keyFigures(
  { total, seconds_to_decide, oldest_pending }: Overview,
  { href }: PageContext,
): HTMLElement {
  const all = sumOf(total)
  const over = all - total.pending
  const oldest: Child[] =
    oldest_pending === undefined
      ? ['none pending']
      : ['oldest ', linkWith(href(`/a/${oldest_pending.id}`), ago(oldest_pending.created_at))]
  return el(
    'dl',
    { class: 'figures' },
    figure('Requests', shownNumber(all)),
    figure('Approved', shownShare(total.approved, over), 'of those that ended'),
    figure('Rejected', shownShare(total.rejected, over)),
    figure('Expired', shownShare(total.expired, over), 'without a decision'),
    figure(
      'Time to decide',
      seconds_to_decide === undefined ? '–' : duration(seconds_to_decide.median),
      'median',
    ),
    figure('90 % decided within', seconds_to_decide === undefined ? '–' : duration(seconds_to_decide.p90)),
    figure('Pending now', shownNumber(total.pending), ...oldest),
  )
}

function figure(name: string, value: string, ...about: Child[]): HTMLElement {
  return el(
    'div',
    {},
    el('dt', {}, name),
    el('dd', {}, el('b', {}, value), about.length > 0 && hint(...about)),
  )
}

function byDay({ days, total }: Overview): HTMLElement {
  const part = section('By day', 'Each bar is a day; the latest is on the right.')
  if (sumOf(total) === 0) {
    part.body.append(hint('No live requests in this time.'))
    return part.element
  }
  const rows = days
    .filter((day) => sumOf(day) > 0)
    .map((day) => [shownDay(day.day), ...countCells(day)])
    .reverse()
  part.body.append(
    dayChart(days),
    legend(),
    folded('The same as a table', table(['Day', ...SERIES.map((ending) => ENDING_WORDS[ending])], rows)),
  )
  return part.element
}

function byKey({ keys }: Overview, { href, account }: PageContext): HTMLElement {
  const part = section('By API key', 'Which caller asks how much, and how it ends.')
  const name = ({ id, name }: Overview['keys'][number]): Child =>
    account.role === 'auditor' && name === undefined
      ? id
      : linkWith(href(`/requests?key=${id}`), name === undefined ? id : callerText(name))
  part.body.append(
    keys.length === 0
      ? hint('No live requests in this time.')
      : table(
          ['API key', 'All', ...SERIES.map((ending) => ENDING_WORDS[ending])],
          keys.map((key) => [name(key), shownNumber(sumOf(key)), ...countCells(key)]),
        ),
  )
  return part.element
}

function linkWith(address: string, content: Child): HTMLElement {
  const made = link(address, '')
  if (content !== undefined && content !== false) made.append(content)
  return made
}

const NOTES: Record<Overview['approvers'][number]['notes'][number], string> = {
  quick:
    'Decides a quarter or more within 3 seconds of the first sight: too fast to read. Ask for less, or group it.',
  never_rejects:
    'Has not rejected one of 50 or more. A person who never says no may have stopped reading: check whether these requests need a person at all.',
}

function byApprover({ approvers }: Overview, { href }: PageContext): HTMLElement {
  const part = section(
    'By approver',
    'Votes, and how long a request was on the screen before. Fast votes and no rejections are signs that too much is asked.',
  )
  const row = (one: Overview['approvers'][number]): Child[] => [
    linkWith(href(`/requests?person=${one.id}`), one.name === undefined ? one.id : callerText(one.name)),
    shownNumber(one.approved),
    shownNumber(one.rejected),
    shownShare(one.rejected, one.approved + one.rejected),
    one.median_look === undefined ? '–' : duration(one.median_look),
    one.looks === 0 ? '–' : shownShare(one.quick, one.looks),
  ]
  const names = ['Approver', 'Approved', 'Rejected', 'Share rejected', 'Median look', 'Within 3 s']
  const noted = approvers.flatMap((one) => one.notes.map((note) => ({ one, note })))
  part.body.append(
    approvers.length === 0 ? hint('Nobody has decided in this time.') : table(names, approvers.map(row)),
    ...noted.map(({ one, note }) =>
      notice(
        'info',
        callerText(one.name ?? one.id),
        `: ${NOTES[note].charAt(0).toLowerCase()}${NOTES[note].slice(1)}`,
      ),
    ),
  )
  return part.element
}

function byReason({ reasons }: Overview): HTMLElement | undefined {
  if (reasons.length === 0) return undefined
  const part = section(
    'Why requests were rejected',
    'Reasons that approvers chose, from the list in Settings.',
  )
  const rows = reasons.map(({ reason, times }) => [callerText(reason), shownNumber(times)])
  part.body.append(table(['Reason', 'Rejections'], rows))
  return part.element
}

function countCells(endings: Endings): string[] {
  return SERIES.map((ending) => shownNumber(endings[ending]))
}

/** A table whose first column names the row, in a box that scrolls on narrow screens. */
function table(names: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const head = el('tr', {}, ...names.map((name) => el('th', { scope: 'col' }, name)))
  const lines = rows.map(([name, ...cells]) =>
    el('tr', {}, el('th', { scope: 'row' }, name), ...cells.map((cell) => el('td', {}, cell))),
  )
  const made = el('table', { class: 'figure-table' }, el('thead', {}, head), el('tbody', {}, ...lines))
  return el('div', { class: 'table-box', tabindex: 0, role: 'group', 'aria-label': names[0] }, made)
}

const SVG = 'http://www.w3.org/2000/svg'

/** Units of the drawing; it is stretched to the width of the page. */
const HEIGHT = 100
const STEP = 10
const BAR = 8

/** A bar for each day, divided by how requests ended. The table below it says the same to those who do not see it. */
function dayChart(days: readonly (Endings & { day: string })[]): HTMLElement {
  const most = Math.max(1, ...days.map(sumOf))
  const all = days.reduce((sum, day) => sum + sumOf(day), 0)
  const drawing = shape('svg', {
    ...{ viewBox: `0 0 ${days.length * STEP} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
    'aria-label': `${shownNumber(all)} requests in ${days.length} days, at most ${shownNumber(most)} in a day. The table below has every number.`,
  })
  drawing.append(...days.map((day, index) => bar(day, index, most)))
  const [first = '', last = ''] = [days[0], days.at(-1)].flatMap((day) => (day ? shownDay(day.day) : []))
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
  title.textContent = `${shownDay(day.day)}: ${said.length === 0 ? 'no requests' : said.join(', ')}`
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
function legend(): HTMLElement {
  const items = SERIES.map((ending) =>
    el('li', {}, el('span', { class: `swatch ${ending}` }), ENDING_WORDS[ending]),
  )
  return el('ul', { class: 'chart-legend', 'aria-hidden': 'true' }, ...items)
}
