/**
 * Names a cookie of the service. On https the `__Host-` prefix keeps sibling hosts from planting one (T23). Browsers refuse the prefix
 * on plain http, which only development uses; there the port is in the name, since browsers share the cookies of one host among all
 * its ports, and two services on one machine would sign each other's people out.
 * @param baseUrl origin of the service, such as `http://localhost:3000`
 */
export function cookieName(name: string, baseUrl: string): string {
  const { protocol, port } = new URL(baseUrl)
  return protocol === 'https:' ? `__Host-${name}` : `${name}-${port || 80}`
}
