/** The name of the service inside every signature: the address this page was loaded from. */
export function audience(): string {
  return location.origin
}
