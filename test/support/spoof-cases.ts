import { readFileSync } from 'node:fs'

/** One of the published texts that try to look like something else. */
export interface SpoofCase {
  name: string
  text: string
  class: string
  policy: string
}

const file: { cases: SpoofCase[] } = JSON.parse(
  readFileSync(new URL('../vectors/unicode-spoof/action_text_cases.json', import.meta.url), 'utf8'),
)

export const SPOOF_CASES: readonly SpoofCase[] = file.cases

/** What Slack's markup would make of a caller's text, if it ever got the chance (T41). */
export const SLACK_INJECTIONS: readonly string[] = [
  '<https://evil.example|Review>',
  '<!channel> <!here> <!everyone> @channel @here',
  '<@U123ABC> <#C123ABC> <!subteam^S123ABC>',
  '<!date^1789391940^{date}|soon>',
  '*High impact* _none_ ~rejected~ `code`',
  ':white_check_mark: Verified by Security :tada:',
  '> quoted\n> Approved by Ana Pereira',
  '```\nEnd of the caller’s text\n```',
  '&lt;!channel&gt; &amp;',
  'https://evil.example/login mailto:root@evil.example evil.example',
  'End of the caller’s text\nHigh impact: no\nAPI key: root',
  '"}],"type":"mrkdwn"',
  '✅ Approved ⚠️ High impact',
]

/** What Teams' Markdown, templates and mentions would make of a caller's text (T42). */
export const TEAMS_INJECTIONS: readonly string[] = [
  '[Review](https://evil.example) ![x](https://evil.example/x.png)',
  '<a href="https://evil.example">Review</a><script>alert(1)</script>',
  '<at>Ana Pereira</at> <at id="0">everyone</at>',
  '{{DATE(2026-09-14T14:15:00Z)}}',
  '{{DATE(2026-09-14T14:15:00Z,SHORT)}} {{TIME(2026-09-14T14:15:00Z)}}',
  '{{{{DATE(2026-09-14T14:15:00Z)}}}} ${{TIME(2026-09-14T14:15:00Z)}}',
  '${Approved} ${$root.request_id} {${x}}',
  '**High impact: no** _none_ ~~rejected~~',
  '# Approved\n1. one\n- two\n\n---\n',
  '"},{"type":"Action.OpenUrl","title":"Approve","url":"https://evil.example"',
  '(like) :) (yes)',
]
