import { describe, expect, it } from 'vitest'
import { escapeMrkdwn, fallbackName } from '../../../adapters/slack/rich-text.ts'

describe('escaping', () => {
  it('takes Slack its three control characters', () => {
    expect(escapeMrkdwn('<!here> & <@U1> &lt;')).toBe('&lt;!here&gt; &amp; &lt;@U1&gt; &amp;lt;')
  })

  it('leaves a name readable in a notification and nothing else', () => {
    expect(fallbackName('ops-agent_prod 2')).toBe('ops-agent_ prod 2')
    expect(fallbackName(':tada: *x* `y` https://e.example <!here>')).toBe(
      ": tada: * x* 'y' https: //e.example &lt;!here&gt;",
    )
    expect(fallbackName('x'.repeat(90))).toBe(`${'x'.repeat(80)}…`)
  })
})
