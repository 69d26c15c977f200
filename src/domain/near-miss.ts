/**
 * Other words for fields that protect or bound something: a caller who uses one would believe the field was sent and go on
 * without its protection. Keyed by the field's name; in lower case, without separators.
 */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  ttl_seconds: ['ttl', 'expiresin', 'expiresinseconds', 'expiryseconds', 'timeout', 'timeoutseconds'],
  requires_individual_decision: ['highimpact', 'individualdecision', 'requiresindividual'],
  context: ['metadata', 'details', 'arguments', 'args', 'toolarguments', 'toolargs', 'toolinput', 'params'],
  context_sha256: ['contexthash', 'contextdigest', 'contextsha'],
  code_challenge: ['challenge', 'pkcechallenge'],
  sandbox: ['dryrun', 'test', 'testmode'],
  scopes: ['permissions'],
  quorum: ['minapprovals', 'requiredapprovals', 'approvalsneeded'],
  passkey_only: ['onlypasskeys', 'passkeysonly', 'passkeyrequired', 'requirepasskey'],
  confirmed_only: ['onlyconfirmed', 'requireconfirmed'],
  authenticators: ['aaguids', 'attestation', 'requireattestation'],
  // A setting of the environment.
  MONGODB_URI: ['mongourl', 'mongo', 'mongodb'],
  // Query parameters: without its filter, or back at the first page, the answer would be to another question.
  status: ['state'],
  state: ['status'],
  timeout: ['timeoutseconds', 'wait', 'waitseconds', 'seconds'],
  limit: ['pagesize', 'perpage', 'maxresults'],
  cursor: ['page', 'offset', 'after', 'before', 'nextcursor', 'pagetoken'],
}

/**
 * Returns the known field that an unknown name probably meant: the same letters in another spelling, another word for the field,
 * or a slip of one letter in a name of five or more letters, of two in a name of eight or more.
 */
export function meantField(name: string, known: readonly string[]): string | undefined {
  const sent = bare(name)
  return known.find((field) => {
    const letters = bare(field)
    return letters === sent || OTHER_WORDS[field]?.includes(sent) || isSlip(sent, letters)
  })
}

function bare(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function isSlip(sent: string, meant: string): boolean {
  const slips = meant.length >= 8 ? 2 : meant.length >= 5 ? 1 : 0
  return Math.abs(sent.length - meant.length) <= slips && distance(sent, meant) <= slips
}

/** Counts the letters to add, drop, exchange, or swap with the next (Damerau-Levenshtein, optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row += 1) {
    const now = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1]
      const steps = [at(last, column) + 1, at(now, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1)]
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) steps.push(at(before, column - 2) + 1)
      now.push(Math.min(...steps))
    }
    before = last
    last = now
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
