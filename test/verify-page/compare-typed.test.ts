import { describe, expect, it } from 'vitest'
import { compareAction, compareContext, openedIntent } from '../../dashboard/verify/check-receipts.ts'
import { parseReceiptInput } from '../../src/signing/receipt-input.ts'
import { examineReceipt } from '../../src/signing/verify-web.ts'
import { vectors } from '../signing/fixtures.ts'
import { ACTION, answerWith, CONTEXT, keys, received, vote } from './receipts.ts'

const full = parseReceiptInput(received(answerWith(vote())))
const { intent: _gone, ...bareVote } = vote()
const bare = parseReceiptInput(received(bareVote))
const collision = vectors<{ a: string; b: string }>('action-hash/collision16.json')

const SAME = ['success', 'This is exactly the action that was decided on.']
const OTHER = ['error', expect.stringMatching(/^This is not the action that was decided on\./)]

describe('the action somebody typed', () => {
  it('is the same only letter by letter, where there is a statement', async () => {
    expect(await compareAction(full, keys, ACTION)).toEqual(SAME)
    expect(await compareAction(full, keys, `${ACTION}\n`)).toEqual([
      'success',
      `${SAME[1]} Spaces around your text do not count.`,
    ])
    for (const other of [`${ACTION}.`, ACTION.toLowerCase(), ACTION.replace(' ', '\u00a0'), '', '\ud800'])
      expect(await compareAction(full, keys, other), other).toEqual(OTHER)
  })

  it('T69: only fits, where there is none; the collision shows why that is no proof', async () => {
    expect(ACTION).toBe(collision.a)
    const fits = ['warning', expect.stringMatching(/^Probably the same.* not a proof\.$/)]
    expect(await compareAction(bare, keys, collision.a)).toEqual(fits)
    expect(await compareAction(bare, keys, collision.b)).toEqual(fits)
    expect(await compareAction(full, keys, collision.b)).toEqual(OTHER)
    expect(await compareAction(bare, keys, 'Pay nothing')).toEqual(OTHER)
  })
})

describe('the details somebody typed', () => {
  it('are the same in any order of fields and with any blanks', async () => {
    const typed = ` { "rows" : 3,\n "tool": "ps\\u0071l" } `
    expect(await compareContext(full, keys, typed)).toEqual([
      'success',
      'These are exactly the details that were decided on.',
    ])
    for (const other of [{ ...CONTEXT, rows: '3' }, { ...CONTEXT, more: null }, {}])
      expect(await compareContext(full, keys, JSON.stringify(other))).toEqual([
        'error',
        'These are not the details that were decided on.',
      ])
  })

  it('cannot be told without the statement', async () => {
    expect(await compareContext(bare, keys, JSON.stringify(CONTEXT))).toEqual([
      'warning',
      expect.stringMatching(/^The details cannot be compared/),
    ])
  })

  it.each(['', '{', '[]', '"text"', '5', 'null', '{"a":"\\ud800"}'])(
    'are no JSON object: %s',
    async (typed) => {
      expect(await compareContext(full, keys, typed)).toEqual([
        'error',
        'The details are not a JSON object, such as {"amount": 12}.',
      ])
    },
  )
})

describe('openedIntent', () => {
  it('says what the statement holds, once the nonce was found to commit to it', async () => {
    const examination = await examineReceipt(received(vote()), keys)
    expect(openedIntent(examination)).toStrictEqual({
      action: ACTION,
      audience: 'https://approve.example',
      highImpact: false,
      delegate: undefined,
    })
  })

  it('says nothing of a statement that was exchanged, or is not there', async () => {
    const forged = { ...vote(), intent: vote().intent.replace('Pay', 'Pay not') }
    expect(openedIntent(await examineReceipt(received(forged), keys))).toBeUndefined()
    expect(openedIntent(await examineReceipt(received(bareVote), keys))).toBeUndefined()
    expect(openedIntent(await examineReceipt({}, keys))).toBeUndefined()
  })
})
