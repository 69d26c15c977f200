import { expect, it } from 'vitest'
import { plainNotice, renderNotice } from '../../../adapters/slack/cards.ts'
import { shownText } from '../../support/block-parts.ts'
import { checkMessage } from '../../support/check-blocks.ts'
import { HOSTILE_NOTICE, SAMPLE_NOTICE } from '../../support/notice-samples.ts'

it('says what changed, when, from where and what to do, with a link to the account page', () => {
  const message = renderNotice(SAMPLE_NOTICE)
  expect(checkMessage(message)).toEqual([])
  const shown = shownText(message.blocks)
  for (const part of [
    '🔐 A passkey was added to your account',
    'When: 21 Nov 2026, 16:02 UTC',
    'From: 203.0.113.7',
    'If this was not you, open your account',
    'Open my account',
  ])
    expect(shown).toContain(part)
  expect(JSON.stringify(message.blocks)).toContain('"url":"https://approve.example.com/account"')
  expect(message.text).toMatch(/^A passkey was added to your account\. If this was not you/)
  expect(plainNotice(SAMPLE_NOTICE)).toContain('<https://approve.example.com/account|Open my account>')
})

it('T41: shows a name that somebody chose as it stands, and never in the notification', () => {
  const message = renderNotice(HOSTILE_NOTICE)
  expect(checkMessage(message)).toEqual([])
  expect(JSON.stringify(message.blocks)).not.toContain('\u202e')
  expect(shownText(message.blocks)).toContain('<!channel>')
  expect(message.text).not.toContain('channel')
  expect(plainNotice(HOSTILE_NOTICE)).not.toContain('channel')
})

it('names the page that its link opens, also where no blocks are drawn', () => {
  const { notice } = SAMPLE_NOTICE
  const details = 'https://approve.example.com/integrations'
  const view = {
    ...SAMPLE_NOTICE,
    notice: { ...notice, type: 'chat.unavailable' as const },
    links: { details },
  }
  expect(shownText(renderNotice(view).blocks)).toContain('Open my integrations')
  expect(plainNotice(view)).toContain(`<${details}|Open my integrations>`)
})
