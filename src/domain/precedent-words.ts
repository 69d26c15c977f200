import type { Departure } from './precedents.ts'

/** Precedents as pages get them, or as the service has them. */
interface Said<Time> {
  own: boolean
  approved: number
  rejected: number
  at_least: boolean
  last?: { decision: string; decided_at: Time } | undefined
  departures: readonly Departure[]
  /** Departures that the service left out. */
  more?: number
}

/**
 * What is said of precedents, on page and card: in our words, which hold nothing that the caller wrote. `at` follows what is said, the
 * caller's names of fields follow the words of each departure.
 */
export interface PrecedentWords<Time> {
  heading: string
  said: string
  at?: Time
  departures: { words: string; fields: string[] }[]
  /** Fields that differ and are not listed. */
  more: number
}

/** @param most fields listed */
export function precedentWords<Time>(precedents: Said<Time>, most: number): PrecedentWords<Time> {
  const { last, departures, more = 0 } = precedents
  const groups = new Map<string, string[]>()
  for (const one of departures.slice(0, most)) {
    const words = departureWords(one)
    groups.set(words, [...(groups.get(words) ?? []), one.field])
  }
  return {
    ...(last === undefined
      ? { heading: 'First time on record', said: firstWords(precedents) }
      : {
          heading: 'Before',
          said: `${countWords(precedents)}, last ${last.decision} `,
          at: last.decided_at,
        }),
    departures: [...groups].map(([words, fields]) => ({ words, fields })),
    more: Math.max(0, departures.length - most) + more,
  }
}

function firstWords({ own }: { own: boolean }): string {
  return own ? 'this API key asks you for this tool.' : 'this API key asks for this tool.'
}

function countWords({ approved, rejected, at_least }: Said<unknown>): string {
  const times = (count: number) => (at_least ? `at least ${timesWord(count)}` : timesWord(count))
  return [
    ...(approved > 0 ? [`approved ${times(approved)}`] : []),
    ...(rejected > 0 ? [`rejected ${times(rejected)}`] : []),
  ].join(', ')
}

function timesWord(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

const WORDS = { changed: 'New value', missing: 'Missing', added: 'New field' } as const

function departureWords({ how, times = 1, usual = 0 }: Departure): string {
  return how === 'times' ? `${shown(times)} × the usual ${shown(usual)}` : WORDS[how]
}

/** A number of the caller's may have 300 digits. */
function shown(number: number): string {
  const size = Math.abs(number)
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return number.toExponential(1)
  return new Intl.NumberFormat('en', { maximumSignificantDigits: 6 }).format(number)
}
