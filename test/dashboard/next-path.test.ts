import { describe, expect, it } from 'vitest'
import { DASHBOARD_PATHS } from '../../src/domain/pages.ts'
import { nextPath } from '../../webauthn-page/sign-in/next-path.ts'

const ORIGIN = 'https://approve.example'
const next = (wanted: string): string => nextPath(`?next=${encodeURIComponent(wanted)}`, ORIGIN)

describe('where a sign-in leads to', () => {
  it.each([
    '/',
    '/account',
    '/account?account=acc_1',
    '/requests?status=pending&q=a%20b',
    '/requests/req_1',
    '/integrations/webhooks/whk_1',
    '/a/req_1?d=approve',
    '/b/bst_1',
    '/slack/install',
    '/verify#req_1',
  ])('%s, as it was', (path) => {
    expect(next(path)).toBe(path)
  })

  it.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/account',
    'javascript:alert(1)',
    '/api/v1/session',
    '/a/x/y',
    '/requests/x/y',
    '',
  ])('%o leads to the inbox instead', (path) => {
    expect(next(path)).toBe('/')
  })

  it('every page of the dashboard that the service serves', () => {
    const paths = DASHBOARD_PATHS.map((path) => path.replace(':id', 'x_1'))
    expect(paths.map(next)).toEqual(paths)
  })
})
