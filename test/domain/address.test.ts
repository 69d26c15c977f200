import { describe, expect, it } from 'vitest'
import { limitSubject } from '../../src/domain/limits.ts'

describe('the subject of a limit', () => {
  it.each(['192.0.2.7', 'unknown', ''])('is %j itself', (address) => {
    expect(limitSubject(address)).toBe(address)
  })

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:0:0:0:1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['1::2:3:4:5:6', '1:0:0:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['1::2:3:4:5:192.0.2.7', '1:0:2:3::/64'],
    ['0:0:0:0:0:0:192.0.2.7', '0:0:0:0::/64'],
  ])('of %s is %s', (address, subject) => {
    expect(limitSubject(address)).toBe(subject)
  })
})
