import { createHash } from 'node:crypto'

const DARK = `color-scheme: dark;
    --page: #0f1513; --surface: #18201d; --sunken: #111816; --ink: #e9efec; --muted: #a5b3ae; --line: #2f3b37;
    --accent: #6fcfa9; --get: #a9cdf7; --get-soft: #172738; --post: #6fcfa9; --post-soft: #15302a;
    --delete: #ff9d94; --delete-soft: #3a1b19; --warn: #ffd489; --warn-soft: #33280f; --focus: #8ab8ff;`

/**
 * The stylesheet of `/docs` and of notices. Every colour pair has at least WCAG AA contrast in both colour schemes. `data-theme` is
 * what the reader chose.
 */
export const DOCS_STYLE = `:root {
  color-scheme: light dark;
  --page: #f3f5f4; --surface: #ffffff; --sunken: #f3f5f7; --ink: #14201c; --muted: #4d5c57; --line: #d3dad7;
  --accent: #0f5c46; --get: #1d4a86; --get-soft: #e8f0fb; --post: #0f5c46; --post-soft: #e3f2ec;
  --delete: #a3231d; --delete-soft: #fdecea; --warn: #6b4300; --warn-soft: #fff5df; --focus: #1b5fd1;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root:not([data-theme="light"]) {
    ${DARK}
  }
}
:root[data-theme="dark"] {
    ${DARK}
}
:root[data-theme="light"] { color-scheme: light; }
*, *::before, *::after { box-sizing: border-box; }
html { scroll-padding-top: 9rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.6 var(--sans); overflow-wrap: break-word; }
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: 0.5rem; z-index: 3; padding: 0.5rem 1rem; background: var(--surface); }
header { position: sticky; top: 0; z-index: 2; background: var(--surface); border-bottom: 1px solid var(--line); }
[hidden] { display: none !important; }
.bar { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 0.5rem 1rem; max-width: 76rem; margin: 0 auto; padding: 0.75rem 1.25rem; font-size: 0.95rem; }
.bar span > a + a { margin-left: 0.75rem; }
.filter { order: 1; flex: 1 1 100%; display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.625rem; }
.filter label { color: var(--muted); }
.filter input { flex: 1 1 8rem; min-width: 0; min-height: 2.5rem; padding: 0.25rem 0.625rem; color: var(--ink); background: var(--page); border: 1px solid var(--muted); border-radius: 8px; font: inherit; font-size: 1rem; }
.filter p { margin: 0; color: var(--muted); }
.filter p:empty { display: none; }
.brand { color: var(--ink); font-weight: 650; text-decoration: none; }
.brand span { color: var(--muted); font-weight: 400; }
.columns { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem 6rem; }
nav.wide { display: none; }
.notice { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem 6rem; }
h1, h2, h3, h4, h5 { line-height: 1.25; text-wrap: balance; }
h1 { margin: 2rem 0 1rem; font-size: 2rem; letter-spacing: -0.01em; }
h2 { margin: 3.5rem 0 0.5rem; font-size: 1.5rem; letter-spacing: -0.01em; }
h3 { margin: 0 0 0.5rem; font-size: 1.15rem; }
h4 { margin: 1.75rem 0 0.5rem; font-size: 0.8rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--muted); }
h5 { margin: 0; font-size: 0.9rem; }
p { margin: 0.5rem 0; max-width: 46rem; }
ul { margin: 0.5rem 0; padding-left: 1.25rem; max-width: 46rem; }
code, pre { font-family: var(--mono); font-size: 0.875em; }
code { overflow-wrap: anywhere; }
pre { margin: 0.5rem 0; padding: 0.875rem 1rem; background: var(--sunken); border: 1px solid var(--line); border-radius: 8px; line-height: 1.5; white-space: pre-wrap; }
pre code { font-size: 0.8125rem; }
button { min-height: 2rem; padding: 0.125rem 0.75rem; color: var(--ink); background: var(--surface); border: 1px solid var(--muted); border-radius: 8px; font: inherit; font-size: 0.875rem; cursor: pointer; }
.contents, .contents ul { list-style: none; margin: 0; padding: 0; }
.contents a { display: block; padding: 0.2rem 0; color: var(--muted); text-decoration: none; }
.contents a:hover { color: var(--accent); text-decoration: underline; }
summary { min-height: 1.75rem; cursor: pointer; }
summary > h3 { display: inline; }
main details { margin: 0.5rem 0; padding: 0.75rem 1.25rem; background: var(--surface); border: 1px solid var(--line); border-radius: 12px; }
main details:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
summary > b { padding: 0.1rem 0.5rem; border-radius: 6px; font: 650 0.75rem/1.6 var(--mono); color: var(--post); background: var(--post-soft); }
summary > b.get { color: var(--get); background: var(--get-soft); }
summary > b.delete { color: var(--delete); background: var(--delete-soft); }
summary > code { overflow-wrap: break-word; }
dl { margin: 0.5rem 0; }
dt { padding: 0.625rem 0 0; border-top: 1px solid var(--line); font: 0.875em/1.5 var(--mono); overflow-wrap: anywhere; }
dd { margin: 0; padding: 0 0 0.625rem; max-width: 46rem; }
dd > dl { padding-left: 0.875rem; border-left: 2px solid var(--line); }
table { width: 100%; max-width: 46rem; margin: 1rem 0; border-collapse: collapse; font-size: 0.95rem; }
th, td { padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; }
td:last-child { padding-right: 0; white-space: nowrap; }
@media (min-width: 64rem) {
  html { scroll-padding-top: 4.5rem; }
  .filter { order: 0; flex: 0 1 30rem; }
  .columns { display: grid; grid-template-columns: 15.5rem minmax(0, 1fr); gap: 3rem; }
  nav.wide { display: block; position: sticky; top: 3.5rem; align-self: start; height: calc(100vh - 3.5rem); overflow-y: auto; padding: 2rem 0.5rem 2rem 0; font-size: 0.875rem; }
}
@media print { header, nav.wide { display: none; } main details { break-inside: avoid; } ::details-content { content-visibility: visible; block-size: auto; } }
`

/**
 * The script of `/docs`. While the reader types, it keeps only the entries whose name matches or, if there are none, those
 * whose text does, unfolded. A link to a hidden entry ends the filter, and a link to a folded entry unfolds it. Each curl call
 * gets a copy button. Without the script there are neither the filter box nor the buttons.
 */
export const DOCS_SCRIPT = `const box = document.querySelector('.filter')
const [input, status] = [box.querySelector('input'), box.querySelector('[role=status]')]
const sections = document.querySelectorAll('main > section')
const entries = document.querySelectorAll('.contents li')
const targetOf = ({ hash }) => document.getElementById(hash.slice(1))
const parts = [...document.querySelectorAll('main details')].map((element) => ({
  element,
  name: (element.id + ' ' + element.querySelector('summary').textContent).toLowerCase(),
  text: element.textContent.toLowerCase(),
}))
const found = () => parts.find(({ element }) => !element.hidden)?.element

const unfold = (element) => {
  const part = element?.closest('details')
  if (part) part.open = true
}

for (const call of document.querySelectorAll('.call')) {
  const button = document.createElement('button')
  button.textContent = 'Copy'
  button.setAttribute('aria-label', 'Copy the call: ' + call.closest('details').querySelector('h3').textContent)
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard?.writeText(call.textContent).then(() => true, () => false)
    status.textContent = copied ? 'Copied' : 'Not copied: select the text yourself'
  })
  call.after(button)
}

function filter() {
  const words = input.value.toLowerCase().split(/\\s+/).filter((word) => word !== '')
  const by = (where) => parts.filter((part) => words.every((word) => part[where].includes(word)))
  const named = by('name')
  const left = named.length > 0 ? named : by('text')
  for (const { element } of parts) element.hidden = true
  const active = words.length > 0
  for (const { element } of left) {
    element.hidden = false
    if (active && (named.length === 0 || left.length === 1)) unfold(element)
  }
  const about = document.querySelector('.about')
  const told = words.every((word) => about.textContent.toLowerCase().includes(word))
  about.hidden = active && (named.length > 0 || !told)
  for (const section of sections) section.hidden = active && section.querySelector('details:not([hidden])') === null
  for (const entry of entries) entry.hidden = targetOf(entry.querySelector('a')).closest('[hidden]') !== null
  const places = [...(told ? ['the introduction'] : []), ...(left.length > 0 ? [left.length] : [])].join(' and ')
  const count = named.length > 0 ? left.length + ' found' : places ? 'None by name, mentioned in ' + places : 'Nothing found'
  status.textContent = active ? count : ''
  if (active) scrollTo(0, 0)
}

function end() {
  input.value = ''
  filter()
}

input.addEventListener('input', filter)
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') end()
  if (event.key !== 'Enter') return
  // Else the same key would fold what it leads to.
  event.preventDefault()
  found()?.querySelector('summary').focus()
})
addEventListener('click', ({ target }) => {
  const link = target.closest('a[href^="#"]')
  if (link === null) return
  if (targetOf(link)?.closest('[hidden]')) end()
  unfold(targetOf(link))
})
addEventListener('hashchange', () => unfold(targetOf(location)))
box.hidden = false
// Browsers fill a box again on the way back.
filter()
unfold(targetOf(location))
`

/** The theme that the reader chose in this browser, as `webauthn-page/kit/theme.js` reads it: before anything is drawn. */
export const DOCS_THEME = `try {
  const theme = localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
`

/** The paths of the stylesheet and the scripts, which change with their text. */
export const DOCS_STYLE_PATH = `/docs/${fingerprint(DOCS_STYLE)}.css`
export const DOCS_THEME_PATH = `/docs/${fingerprint(DOCS_THEME)}.js`
export const DOCS_SCRIPT_PATH = `/docs/${fingerprint(DOCS_SCRIPT)}.js`

/** Returns a short hash of the text. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
