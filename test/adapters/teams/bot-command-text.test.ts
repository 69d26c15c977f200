import { describe, expect, it } from 'vitest'
import { isAddressed, readCommand } from '../../../adapters/teams/activity.ts'

const BOT = { id: '28:bot', name: 'Countersign' }
const mention = (text: string, id = BOT.id) => ({ type: 'mention', text, mentioned: { id } })

describe('the typed text', () => {
  it.each([
    ['verify req_1', 'verify req_1'],
    ['/verify req_1', 'verify req_1'],
    ['/countersign pending', 'pending'],
    ['/countersign', ''],
    ['/Countersign   link ', 'link'],
    ['/countersigned', 'countersigned'],
    ['  verify\u00a0req_1  ', 'verify req_1'],
    ['verify&nbsp;req_1', 'verify req_1'],
    ['verify {&quot;a&quot;:1}', 'verify {"a":1}'],
    ['a &lt;b&gt; &amp;amp; c', 'a <b> &amp; c'],
    ['verify &#39;x&#39; &unknown;', "verify 'x' &unknown;"],
    ['', ''],
  ])('%s is read as “%s”', (text, command) => {
    expect(readCommand({ text, recipient: BOT, entities: [] })).toBe(command)
  })

  it.each([null, undefined])('%s is nothing', (text) => {
    expect(readCommand({ text })).toBe('')
  })

  it('loses mentions of the bot that the activity declares, and no others', () => {
    const text = '<at>Countersign</at> verify <at>Ana</at> <at>Countersign</at>'
    const entities = [mention('<at>Countersign</at>'), mention('<at>Ana</at>', '29:ana')]
    expect(readCommand({ text, recipient: BOT, entities })).toBe('verify <at>Ana</at>')
  })

  it('keeps markup that nobody declared', () => {
    expect(readCommand({ text: '<at>Countersign</at> help', recipient: BOT, entities: [] })).toBe(
      '<at>Countersign</at> help',
    )
  })

  it.each([
    [['quotedReply'], 'pending'],
    [[], '<quoted messageId="1772050244572"/> pending'],
  ])('is what follows the quoted message, if the activity declares one: %j', (types, command) => {
    const text = '<quoted messageId="1772050244572"/> pending'
    expect(readCommand({ text, recipient: BOT, entities: types.map((type) => ({ type })) })).toBe(command)
  })

  it('is not cut to pieces by an empty mention', () => {
    expect(readCommand({ text: 'help', recipient: BOT, entities: [mention('')] })).toBe('help')
  })
})

describe('who is spoken to', () => {
  it.each([
    ['a mention of the bot', { recipient: BOT, entities: [mention('<at>Countersign</at>')] }, true],
    ['a command that only the bot and the speaker see', { recipient: { ...BOT, isTargeted: true } }, true],
    ['a mention of somebody else', { recipient: BOT, entities: [mention('<at>Ana</at>', '29:ana')] }, false],
    ['no mention', { recipient: BOT, entities: [] }, false],
    [
      'a mention without an id, to a recipient without one',
      { recipient: {}, entities: [{ type: 'mention', text: 'x' }] },
      false,
    ],
  ])('%s', (_name, written, addressed) => {
    expect(isAddressed(written)).toBe(addressed)
  })
})
