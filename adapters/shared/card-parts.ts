/**
 * A piece of a line on a card, for every platform. Its text is never markup: platforms draw it literally, whatever it
 * looks like (T41, T42).
 */
export type Piece =
  | { kind: 'words' | 'bold' | 'italic' | 'code'; text: string }
  /** A time stated by us; drawn in the reader's time zone, or in UTC by clients that cannot convert it. */
  | { kind: 'moment'; at: Date }

/** `ours` stands outside every frame. Text by others is in a `quote` or, to keep its layout, in `preformatted` (T44). */
export type CardPart =
  | {
      kind: 'ours'
      lines: Piece[][]
      /** This part counts what is not shown. */
      omits?: true
    }
  | { kind: 'quote'; lines: Piece[][] }
  | { kind: 'preformatted'; text: string }

export function words(text: string): Piece {
  return { kind: 'words', text }
}

/** For our own words, or the caller's when they are in our own list: a caller must not be able to imitate our lines. */
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
 * Creates a part with our own statements. Text that another person chose, such as a name, goes to the end of its line, so that
 * its direction cannot reorder our words (T43).
 */
export function ours(...lines: Piece[][]): CardPart {
  return { kind: 'ours', lines }
}

/** Puts a frame around text that others wrote. */
export function quote(...lines: Piece[][]): CardPart {
  return { kind: 'quote', lines }
}

export function preformatted(text: string): CardPart {
  return { kind: 'preformatted', text }
}

/** Formats a moment in UTC, to the minute: `2026-09-14 14:15 UTC`. */
export function utcMoment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** A card as both platforms draw it: our heading, the parts, a link, our notes. */
export interface CardDocument {
  /** Our words, with their sign. A reply below a card has no heading. */
  heading?: string
  /** The meaning of the heading, for platforms with coloured backgrounds; the words alone say as much as the colour. */
  tone?: Tone
  parts: CardPart[]
  /** Buttons that lead to a decision: to approve, to reject. */
  choices?: CardLink[]
  /** Further parts, below the buttons. */
  below?: CardPart[]
  link?: CardLink
  /** Our own words, in small print. */
  notes: string[]
  preview: Preview
}

/** The text for notifications, lists of chats, screen readers and clients that draw no card. */
export interface Preview {
  /** Our own words. */
  summary: string
  /** Who asks for what, in others' words: each platform removes whatever its clients could draw as markup (T41). */
  asking?: string
}

export type Tone = 'good' | 'attention' | 'warning'

/** A link to a page of ours. Following it decides nothing (T46). */
export interface CardLink {
  title: string
  url: string
  /** The page, for screen readers: `the consent page`. */
  opens?: string
  /** Where the platform has both: a button if there is something to do, else the last line, in the same block or below it. */
  shown: 'button' | 'line' | 'below'
}
