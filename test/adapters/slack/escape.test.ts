import { describe, expect, it } from 'vitest'
import { escapeMrkdwn, fallbackText } from '../../../adapters/slack/rich-text.ts'

describe('escaping', () => {
  it('takes Slack its three control characters', () => {
    expect(escapeMrkdwn('<!here> & <@U1> &lt;')).toBe('&lt;!here&gt; &amp; &lt;@U1&gt; &amp;lt;')
  })

  it('T41: leaves what others wrote readable in a notification and nothing else', () => {
    const text = (asking: string) => fallbackText({ summary: 'A dec_1.', asking })
    expect(text('ops-agent_prod 2')).toBe('A dec_1. ops-agent_ prod 2')
    expect(text(':tada: *x* `y` https://e.example <!here>')).toBe(
      "A dec_1. : tada: * x* 'y' https: //e.example &lt;!here&gt;",
    )
  })
})
