/**
 * A piece of a line on a card, for every platform. No text in it is markup: platforms draw it as it stands, however it
 * looks (T41, T42).
 */
export type Piece =
  | { kind: 'words' | 'bold' | 'italic' | 'code'; text: string }
  /** One of our moments; drawn in the reader's zone, with UTC for clients that cannot. */
  | { kind: 'moment'; at: Date }

/** `ours` stands outside every frame. What others wrote is in a `quote` or, with its layout kept, in `preformatted` (T44). */
export type CardPart =
  | {
      kind: 'ours'
      lines: Piece[][]
      /** It counts what is not shown. */
      omits?: true
    }
  | { kind: 'quote'; lines: Piece[][] }
  | { kind: 'preformatted'; text: string }

export function words(text: string): Piece {
  return { kind: 'words', text }
}

/** For our own words, or the caller's where they are also ours: a caller must not be able to write lines like our own. */
export function bold(text: string): Piece {
  return { kind: 'bold', text }
}

export function italic(text: string): Piece {
  return { kind: 'italic', text }
}

export function code(text: string): Piece {
  return { kind: 'code', text }
}

export function moment(at: Date): Piece {
  return { kind: 'moment', at }
}

/**
 * Our own statements. What another person chose, such as a name, goes to the end of its line, so that its direction cannot
 * reorder our words (T43).
 */
export function ours(...lines: Piece[][]): CardPart {
  return { kind: 'ours', lines }
}

/** The frame around what others wrote. */
export function quote(...lines: Piece[][]): CardPart {
  return { kind: 'quote', lines }
}

export function preformatted(text: string): CardPart {
  return { kind: 'preformatted', text }
}

/** A moment in UTC, to the minute: `2026-09-14 14:15 UTC`. */
export function utcMoment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** A card as both platforms draw it: our heading, the parts, a link, our notes. */
export interface CardDocument {
  /** Our words, with their sign. A line below a card has none. */
  heading?: string
  /** What the heading means, where the platform has coloured grounds; the words say all that the colour says. */
  tone?: Tone
  parts: CardPart[]
  link?: CardLink
  /** Our own words, small. */
  notes: string[]
  preview: Preview
}

/** What notifications, lists of chats and screen readers say, and clients that draw no card. */
export interface Preview {
  /** Our own words. */
  summary: string
  /** Who asks for what, in the words of others: each platform takes out what its clients could draw as markup (T41). */
  asking?: string
}

export type Tone = 'good' | 'attention' | 'warning'

/** Opens a page of ours. Following it decides nothing (T46). */
export interface CardLink {
  title: string
  url: string
  /** The page, for screen readers: `the consent page`. */
  opens?: string
  /** Where the platform has both: a button for what there is to do, else the last line, in the same block or below it. */
  shown: 'button' | 'line' | 'below'
}
