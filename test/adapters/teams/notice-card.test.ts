import { expect, it } from 'vitest'
import { renderNotice } from '../../../adapters/teams/cards.ts'
import { cardText } from '../../support/card-lines.ts'
import { checkCard } from '../../support/check-card.ts'
import { HOSTILE_NOTICE, SAMPLE_NOTICE } from '../../support/notice-samples.ts'

it('says what changed, when, from where and what to do, with one button to the account page', () => {
  const message = renderNotice(SAMPLE_NOTICE)
  expect(checkCard(message)).toEqual([])
  const shown = cardText(message.card)
  for (const part of [
    '🔐 A passkey was added to your account',
    '21 Nov 2026, 16:02 UTC',
    '203.0.113.7',
    'If this was not you, open your account',
  ])
    expect(shown).toContain(part)
  expect(message.card.actions).toMatchObject([
    { type: 'Action.OpenUrl', title: 'Open my account', url: 'https://approve.example.com/account' },
  ])
})

it('T41: shows a name that somebody chose as it stands, and never in the notification', () => {
  const message = renderNotice(HOSTILE_NOTICE)
  expect(checkCard(message)).toEqual([])
  expect(JSON.stringify(message.card)).not.toContain('\u202e')
  expect(message.text).not.toContain('channel')
})
