import type { NoticeView } from '../../src/domain/card-view.ts'

/** A passkey that was added. */
export const SAMPLE_NOTICE: NoticeView = {
  kind: 'notice',
  request_id: 'evt_7h3k9m2p5q8r1s4t6v0w2x5y8z',
  version: 1,
  notice: {
    type: 'factor.passkey_added',
    at: new Date('2026-11-21T16:02:45Z'),
    address: '203.0.113.7',
  },
  links: { details: 'https://approve.example.com/account' },
}

/** A browser with a name that means harm. */
export const HOSTILE_NOTICE: NoticeView = {
  ...SAMPLE_NOTICE,
  notice: {
    ...SAMPLE_NOTICE.notice,
    type: 'push.device_added',
    name: '<!channel> *bold* [x](https://evil.example) \u202eevil',
  },
}
