import type { overviewAnswer } from '../../src/http/api/overview.ts'
import type { Answer } from '../../src/http/api/shared/fields.ts'

/** Numbers of requests by how they ended. */
export type Endings = Answer<typeof overviewAnswer>['total']
type Ending = keyof Endings

/** The order of a bar's parts from below, and of the columns. */
export const SERIES: readonly Ending[] = ['approved', 'rejected', 'expired', 'withdrawn', 'pending']

export const ENDING_WORDS: Record<Ending, string> = {
  approved: 'Approved',
  rejected: 'Rejected',
  expired: 'Expired',
  withdrawn: 'Withdrawn',
  pending: 'Pending',
}

export function sumOf(endings: Endings): number {
  return SERIES.reduce((sum, ending) => sum + endings[ending], 0)
}

const numbers = new Intl.NumberFormat()
const shares = new Intl.NumberFormat(undefined, { style: 'percent' })

/** A whole number in the reader's own way of writing. */
export function shownNumber(value: number): string {
  return numbers.format(value)
}

/** A share in percent; a dash where there is nothing to share. */
export function shownShare(part: number, all: number): string {
  return all === 0 ? '–' : shares.format(part / all)
}
