import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'
import { isPublicAddress } from '../../src/outbound/target-url.ts'

const { cases } = z
  .object({ cases: z.array(z.object({ ip: z.string(), allow: z.boolean(), why: z.string() })).min(40) })
  .parse(JSON.parse(readFileSync(packagePath('test/vectors/ssrf/ip_cases.json'), 'utf8')))

describe('T1, T5: public addresses', () => {
  it.each(cases)('$ip → $allow ($why)', ({ ip, allow }) => {
    expect(isPublicAddress(ip)).toBe(allow)
  })

  it.each([
    ['169.254.169.254', 'metadata of most clouds'],
    ['100.100.100.200', 'Alibaba metadata'],
    ['192.0.0.192', 'Oracle metadata'],
    ['192.0.2.1', 'documentation'],
    ['203.0.113.255', 'documentation'],
    ['172.31.255.255', 'end of a private network'],
    ['239.255.255.250', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::ffff:127.0.0.1', 'IPv4-mapped, dotted'],
    ['::ffff:0:8.8.8.8', 'IPv4-translated'],
    ['64:ff9b::808:808', 'NAT64 of a public address'],
    ['2001:1ff:ffff::1', 'end of 2001::/23'],
    ['2001:db8:ffff::1', 'documentation'],
    ['3fff:0fff::1', 'documentation'],
    ['fe80::1%eth0', 'zone id'],
    ['2a00:1450:4001::1%eth0', 'zone id on a public address'],
    ['4000::1', 'not handed out'],
    ['fe00::1', 'not handed out'],
  ])('refuses %s (%s)', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([
    '9.255.255.255',
    '172.32.0.0',
    '192.0.3.0',
    '192.169.0.0',
    '198.20.0.0',
    '203.0.114.0',
    '168.63.129.15',
  ])('lets the neighbour %s through', (address) => expect(isPublicAddress(address)).toBe(true))

  it.each(['2000::1', '2001:200::', '2001:db9::', '2003::', '3fff:1000::', '3ffe:ffff::'])(
    'lets the neighbour %s through',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  it.each([
    '',
    'localhost',
    'example.com',
    '127.1',
    '8.8.8',
    '0x08080808',
    '134744072',
    '8.8.8.8 ',
    '[2003::1]',
    '08.8.8.8',
  ])('takes nothing but an address as Node prints it: %j', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  )

  it('never lets IPv6 through that carries an IPv4 address, however it is spelt', () => {
    const prefixes = ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), fc.ipV4(), (prefix, v4) => {
        const address = `${prefix}${v4}`
        expect(isIPv6(address)).toBe(true)
        expect(isPublicAddress(address)).toBe(false)
      }),
    )
  })
})
