import type { TeamsSettings } from '../../src/config/teams.ts'

/** Hosts of Microsoft's connectors: worldwide, and in government clouds (`cloud-environment.ts` of microsoft/teams.ts). */
const EXACT = ['smba.trafficmanager.net', 'smba.onyx.prod.teams.trafficmanager.net']
const BELOW = ['.teams.microsoft.com', '.teams.microsoft.us']

/** Microsoft's addresses are never longer. */
const LONGEST = 500

const WORLDWIDE = 'https://smba.trafficmanager.net/teams/'

/** Returns the address for a tenant that has not sent any yet. Tests never use Microsoft's. */
export function firstService({ serviceHosts: [host] }: Pick<TeamsSettings, 'serviceHosts'>): string {
  return host === undefined ? WORLDWIDE : `http://${host}/teams/`
}

/**
 * Checks whether our bearer token may be sent to this address (T38, T40): Microsoft's own hosts over https: at the default
 * port, and hosts that the settings of a test allow.
 */
export function isAllowedService(
  address: string,
  { serviceHosts }: Pick<TeamsSettings, 'serviceHosts'>,
): boolean {
  if (address.length > LONGEST || !URL.canParse(address)) return false
  const { protocol, host, hostname, port, username, password, search, hash } = new URL(address)
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false
  if (protocol !== 'https:' && protocol !== 'http:') return false
  if (serviceHosts.includes(host) || serviceHosts.includes(hostname)) return true
  const ofMicrosoft = EXACT.includes(hostname) || BELOW.some((suffix) => hostname.endsWith(suffix))
  return protocol === 'https:' && port === '' && ofMicrosoft
}
