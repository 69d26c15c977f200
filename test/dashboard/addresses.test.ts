import { describe, expect, it } from 'vitest'
import { accountsOf } from '../../dashboard/shell/account-view.ts'
import { matchPath, ofAccount, pageHref } from '../../dashboard/shell/addresses.ts'
import { SAMPLE_USER } from '../support/page-samples.ts'

describe('the path of a page', () => {
  it.each([
    ['/', '/', {}],
    ['/requests', '/requests', {}],
    ['/requests/:id', '/requests/req_1', { id: 'req_1' }],
    ['/integrations/webhooks/:id', '/integrations/webhooks/whk%201', { id: 'whk 1' }],
    ['/requests/:id', '/requests', undefined],
    ['/requests/:id', '/requests/', undefined],
    ['/requests/:id', '/requests/a/b', undefined],
    ['/requests/:id', '/keys/a', undefined],
    ['/requests/:id', '/requests/%zz', undefined],
    ['/keys', '/keys/', undefined],
    ['/', '/keys', undefined],
  ])('%s and %s give %o', (pattern, path, params) => {
    expect(matchPath(pattern, path)).toEqual(params)
  })
})

describe('the account in an address', () => {
  const home = { id: 'acc_home', name: 'Example Ltd', role: 'approver', own: false } as const
  const own = { id: 'acc_own', name: 'Ana', role: 'owner', own: true } as const

  it('is named to the service unless it is the person’s own', () => {
    expect(ofAccount('/account', own)).toBe('/account')
    expect(ofAccount('/account', home)).toBe('/account?account=acc_home')
    expect(ofAccount('/account/requests?q=x', home)).toBe('/account/requests?q=x&account=acc_home')
  })

  it('is named to the page unless it is the one that opens first', () => {
    expect(pageHref('/requests', home, [home, own])).toBe('/requests')
    expect(pageHref('/requests', own, [home, own])).toBe('/requests?account=acc_own')
  })

  it('is none where the service names none', () => {
    const none = { id: '', name: SAMPLE_USER.name, role: 'none', own: true }
    expect(accountsOf(SAMPLE_USER, [])).toEqual([none])
    expect(accountsOf(SAMPLE_USER, [home, own])).toEqual([home, own])
  })
})
