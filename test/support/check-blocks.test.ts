import { describe, expect, it } from 'vitest'
import { checkBlocks, checkMessage, LIMIT } from './check-blocks.ts'

const plain = (text: string) => ({ type: 'plain_text', text })
const section = (text: unknown) => ({ type: 'section', text })
const button = (changes: object) => ({
  type: 'actions',
  elements: [{ type: 'button', text: plain('Go'), ...changes }],
})
const rich = (...elements: object[]) => ({ type: 'rich_text', elements })
const inSection = (...elements: object[]) => rich({ type: 'rich_text_section', elements })
const x = (length: number) => 'x'.repeat(length)
const times = (count: number, make: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => make(index))
const url = (length: number) => `https://a.example/${x(length - 18)}`
const confirm = (changes: object) => button({ confirm: { text: plain('Sure?'), ...changes } })

/** For every limit the most that passes, and one more. */
const EDGES: { name: string; make: (over: 0 | 1) => unknown[] }[] = [
  { name: 'blocks', make: (over) => times(LIMIT.blocks + over, () => ({ type: 'divider' })) },
  { name: 'header', make: (over) => [{ type: 'header', text: plain(x(LIMIT.headerText + over)) }] },
  { name: 'section text', make: (over) => [section(plain(x(LIMIT.sectionText + over)))] },
  {
    name: 'fields',
    make: (over) => [{ type: 'section', fields: times(LIMIT.sectionFields + over, () => plain('x')) }],
  },
  { name: 'field text', make: (over) => [{ type: 'section', fields: [plain(x(LIMIT.fieldText + over))] }] },
  {
    name: 'context',
    make: (over) => [{ type: 'context', elements: times(LIMIT.contextElements + over, () => plain('x')) }],
  },
  {
    name: 'actions',
    make: (over) => [
      {
        type: 'actions',
        elements: times(LIMIT.actionsElements + over, () => ({ type: 'button', text: plain('x') })),
      },
    ],
  },
  { name: 'button text', make: (over) => [button({ text: plain(x(LIMIT.buttonText + over)) })] },
  { name: 'url', make: (over) => [button({ url: url(LIMIT.buttonUrl + over) })] },
  { name: 'value', make: (over) => [button({ value: x(LIMIT.buttonValue + over) })] },
  { name: 'label', make: (over) => [button({ accessibility_label: x(LIMIT.accessibilityLabel + over) })] },
  { name: 'action id', make: (over) => [button({ action_id: x(LIMIT.actionId + over) })] },
  { name: 'block id', make: (over) => [{ type: 'divider', block_id: x(LIMIT.blockId + over) }] },
  { name: 'confirm title', make: (over) => [confirm({ title: plain(x(LIMIT.confirmTitle + over)) })] },
  { name: 'confirm text', make: (over) => [confirm({ text: plain(x(LIMIT.confirmText + over)) })] },
  { name: 'confirm button', make: (over) => [confirm({ deny: plain(x(LIMIT.confirmButton + over)) })] },
  {
    name: 'all text',
    make: (over) => [...times(2, () => section(plain(x(3000)))), section(plain(x(2000 + over)))],
  },
]

describe('the check of blocks', () => {
  it.each(EDGES)('lets the most of $name pass and no more', ({ make }) => {
    expect(checkBlocks(make(0))).toEqual([])
    expect(checkBlocks(make(1))).toHaveLength(1)
  })

  it.each([
    ['no block', []],
    ['something else', 'blocks'],
    ['an unknown block', [{ type: 'nope' }]],
    ['an unknown field', [{ type: 'divider', colour: 'red' }]],
    ['an empty text', [section(plain(''))]],
    ['an empty piece of rich text', [inSection({ type: 'text', text: '' })]],
    ['an empty quote', [rich({ type: 'rich_text_quote', elements: [] })]],
    ['an empty rich text', [rich()]],
    ['markup in a header', [{ type: 'header', text: { type: 'mrkdwn', text: 'x' } }]],
    ['a section with nothing', [{ type: 'section' }]],
    ['a link that is none', [button({ url: 'javascript:alert(1)' })]],
    ['an unknown style', [button({ style: 'loud' })]],
    ['a date in preformatted text', [rich({ type: 'rich_text_preformatted', elements: [{ type: 'date' }] })]],
    ['a date without a fallback', [inSection({ type: 'date', timestamp: 1, format: '{date}' })]],
    ['a date without a token', [inSection({ type: 'date', timestamp: 1, format: 'today', fallback: 'x' })]],
    [
      'a date in milliseconds',
      [inSection({ type: 'date', timestamp: 1789391940000, format: '{date}', fallback: 'x' })],
    ],
    ['half of a surrogate pair', [section(plain('\ud83d'))]],
    ['an unknown piece of rich text', [inSection({ type: 'broadcast', range: 'here' })]],
    ['an id used twice', times(2, () => ({ type: 'divider', block_id: 'same' }))],
    [
      'an action used twice in a block',
      [
        {
          type: 'actions',
          elements: times(2, () => ({ type: 'button', action_id: 'same', text: plain('x') })),
        },
      ],
    ],
    [
      'too much JSON',
      [
        rich({
          type: 'rich_text_preformatted',
          elements: times(3, () => ({ type: 'text', text: '"'.repeat(2400) })),
        }),
      ],
    ],
  ])('finds %s', (_, blocks) => {
    expect(checkBlocks(blocks)).toHaveLength(1)
  })

  it('lets everything pass that we use', () => {
    const style = { bold: true, italic: true, code: true }
    const blocks = [
      section({ type: 'mrkdwn', text: '*ours*', verbatim: true }),
      inSection(
        { type: 'text', text: 'x', style },
        { type: 'user', user_id: 'U123' },
        { type: 'emoji', name: 'tada' },
        { type: 'link', url: 'https://a.example', text: 'x' },
        { type: 'date', timestamp: 1789391940, format: '{date} at {time}', fallback: 'x' },
      ),
      rich({
        type: 'rich_text_list',
        style: 'bullet',
        elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'x' }] }],
      }),
    ]
    expect(checkBlocks(blocks)).toEqual([])
  })

  it('wants a top-level text of at most 4 000 characters', () => {
    const blocks = [{ type: 'divider' }]
    expect(checkMessage({ text: x(LIMIT.fallbackText), blocks, channel: 'C1' })).toEqual([])
    expect(checkMessage({ text: x(LIMIT.fallbackText + 1), blocks })).toHaveLength(1)
    expect(checkMessage({ text: '', blocks })).toHaveLength(1)
    expect(checkMessage({ blocks })).toHaveLength(1)
    expect(
      checkMessage({ text: 'x', blocks: times(2, () => ({ type: 'divider', block_id: 'same' })) }),
    ).toHaveLength(1)
  })
})
