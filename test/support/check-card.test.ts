import { describe, expect, it } from 'vitest'
import { checkCard, LIMIT } from './check-card.ts'
import { parseCard, sinceVersion, typeSince } from './parse-card.ts'

const run = (text: string, more = {}) => ({ type: 'TextRun', text, ...more })
const rich = (...inlines: object[]) => ({ type: 'RichTextBlock', inlines, spacing: 'Small' })
const heading = (text: string) => ({
  type: 'TextBlock',
  text,
  wrap: true,
  size: 'Large',
  weight: 'Bolder',
  style: 'heading',
})
const open = (changes: object = {}) => ({
  type: 'Action.OpenUrl',
  title: 'Open',
  url: 'https://a.example/a/x',
  ...changes,
})
const submit = { verb: 'countersign.details', request_id: 'req_x' }
const execute = (changes: object = {}) => ({
  type: 'Action.Execute',
  title: 'Details',
  verb: 'countersign.details',
  data: { request_id: 'req_x' },
  fallback: { type: 'Action.Submit', title: 'Details', data: submit },
  ...changes,
})
const card = (changes: object = {}) => ({
  text: 'x',
  card: { type: 'AdaptiveCard', version: '1.5', fallbackText: 'x', body: [rich(run('x'))], ...changes },
})
const times = (count: number, make: () => object) => Array.from({ length: count }, make)
const dated = (at: string, before = '**Expires at:** ') => ({
  type: 'TextBlock',
  text: `${before}{{TIME(${at})}} · {{DATE(${at},SHORT)}}`,
  wrap: true,
  spacing: 'Small',
})

describe('the check of cards', () => {
  it('lets everything pass that we use', () => {
    const frame = { type: 'Container', style: 'emphasis', spacing: 'None', items: [rich(run('x'))] }
    const body = [
      heading('Approved'),
      frame,
      { type: 'ActionSet', spacing: 'Small', actions: [open()] },
      rich(
        run('x', { weight: 'Bolder', italic: true, fontType: 'Monospace', size: 'Small', isSubtle: true }),
      ),
      { ...dated('2026-09-14T14:15:00Z'), separator: true },
      { type: 'Container', id: 'countersign_details', isVisible: false, spacing: 'Small', items: [frame] },
    ]
    const unfold = { type: 'Action.ToggleVisibility', title: 'x', targetElements: ['countersign_details'] }
    const actions = [open({ style: 'positive', tooltip: 'opens' }), execute(), unfold]
    expect(checkCard(card({ body, actions }))).toEqual([])
  })

  it.each([
    ['no card', { text: 'x' }],
    ['no text', { card: card().card }],
    ['an unknown field', { ...card(), entities: [] }],
    ['another version', card({ version: '1.6' })],
    ['no fallback for old clients', card({ fallbackText: undefined })],
    ['an empty body', card({ body: [] })],
    ['an unknown element', card({ body: [{ type: 'Table', rows: [] }] })],
    ['a fact set, which draws Markdown', card({ body: [{ type: 'FactSet', facts: [] }] })],
    ['an input', card({ body: [{ type: 'Input.Text', id: 'x' }] })],
    ['an unknown field of an element', card({ body: [{ ...rich(run('x')), height: 'stretch' }] })],
    ['a missing text', card({ body: [rich({ type: 'TextRun' })] })],
    ['an empty text', card({ body: [rich(run(''))] })],
    ['a block without text', card({ body: [rich()] })],
    ['underlined text, which is from 1.3', card({ body: [rich(run('x', { underline: true }))] })],
    ['a clickable text', card({ body: [rich(run('x', { selectAction: open() }))] })],
    ['half of a surrogate pair', card({ body: [rich(run('\ud83d'))] })],
    ['a date of a caller', card({ body: [rich(run('{{DATE(2026-09-14T14:15:00Z)}}'))] })],
    ['a template', card({ body: [rich(run('${x}'))] })],
    ['a date where Markdown is drawn', card({ body: [dated('2026-09-14T14:15:00Z', '[x](y) ')] })],
    ['a second date', card({ body: [dated('2026-09-14T14:15:00Z', '{{DATE(x)}} ')] })],
    ['a moment with milliseconds', card({ body: [dated('2026-09-14T14:15:00.000Z')] })],
    ['a moment without a zone', card({ body: [dated('2026-09-14T14:15:00')] })],
    ['a missing address', card({ actions: [open({ url: undefined })] })],
    ['an address without TLS', card({ actions: [open({ url: 'http://a.example' })] })],
    ['a script', card({ actions: [open({ url: 'javascript:alert(1)' })] })],
    ['an address with a name in it', card({ actions: [open({ url: 'https://a.example@evil.example' })] })],
    ['a long address', card({ actions: [open({ url: `https://a.example/${'x'.repeat(LIMIT.url)}` })] })],
    ['a long title', card({ actions: [open({ title: 'x'.repeat(LIMIT.buttonTitle + 1) })] })],
    ['too many buttons', card({ actions: times(LIMIT.actions + 1, open) })],
    ['no button at all', card({ actions: [] })],
    ['a button that decides', card({ actions: [execute({ verb: 'countersign.approve' })] })],
    [
      'a button that carries more',
      card({ actions: [execute({ data: { request_id: 'req_x', token: 'y' } })] }),
    ],
    [
      'a fallback that says something else',
      card({
        actions: [
          execute({
            fallback: { type: 'Action.Submit', title: 'Details', data: { ...submit, request_id: 'req_y' } },
          }),
        ],
      }),
    ],
    ['no fallback of a button', card({ actions: [execute({ fallback: undefined })] })],
    ['an unknown button', card({ actions: [{ type: 'Action.ShowCard', title: 'x', card: {} }] })],
    ['too many bytes', card({ body: [rich(run('x'.repeat(10_000)))] })],
  ])('finds %s', (_, message) => {
    expect(checkCard(message)).toHaveLength(1)
  })
})

describe('Microsoft’s parser', () => {
  it('complains of what a client of version 1.2 would not draw', () => {
    const json = { type: 'AdaptiveCard', version: '1.2', body: [rich(run('x', { underline: true }))] }
    expect(parseCard(json, '1.5').complaints).toEqual([])
    expect(parseCard(json, '1.2').complaints).toEqual([
      'Property "underline" is supported in version 1.3, but you are using version 1.2.',
    ])
    const table = { type: 'AdaptiveCard', version: '1.5', body: [{ type: 'Table', columns: [], rows: [] }] }
    expect(parseCard(table, '1.2').complaints).toHaveLength(1)
  })

  it('knows since when elements and properties exist', () => {
    expect(
      ['RichTextBlock', 'TextRun', 'ActionSet', 'Table', 'Action.Execute', 'Nope'].map(typeSince),
    ).toEqual(['1.2', '1.2', '1.2', '1.5', '1.4', undefined])
    expect(sinceVersion('TextBlock', 'style')).toBe('1.5')
    expect(sinceVersion('TextRun', 'fontType')).toBe('1.2')
    expect(sinceVersion('TextRun', 'nope')).toBeUndefined()
  })
})
