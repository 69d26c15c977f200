/** A passkey in few words: its model if known, and whether it can leave its device. Software can claim any model. */
export function authenticatorWords(made: {
  authenticator?: string | undefined
  attested?: boolean | undefined
  device_bound?: boolean | undefined
}): string {
  const { authenticator, attested, device_bound } = made
  const bound = device_bound === true ? 'device-bound' : 'can be synced'
  if (attested === true) return `${authenticator ?? 'Make'} (proven), ${bound}`
  return authenticator === undefined ? bound : `says it is ${authenticator}, ${bound}`
}
