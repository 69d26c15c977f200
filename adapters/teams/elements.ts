/** What `Action.Execute` and, on old clients, `Action.Submit` tell the bot. Neither decides anything (T46). */
export const VERBS = { refresh: 'countersign.refresh', details: 'countersign.details' } as const

export type Verb = (typeof VERBS)[keyof typeof VERBS]

/** Opens the browser; the bot never hears of it. */
export interface OpenUrlAction {
  type: 'Action.OpenUrl'
  title: string
  url: string
  /** A colour beside the word, where the client has one. */
  style?: 'positive' | 'destructive'
  /** Read out by screen readers; since 1.5, ignored by others. */
  tooltip?: string
}

/** Asks the bot (since 1.4); clients that do not know it send `fallback` as a message whose `value` is the data. */
export interface ExecuteAction {
  type: 'Action.Execute'
  title: string
  verb: Verb
  data: { request_id: string }
  fallback: { type: 'Action.Submit'; title: string; data: { verb: Verb; request_id: string } }
}

/** Shows and hides an element, in the client alone. */
interface ToggleAction {
  type: 'Action.ToggleVisibility'
  title: string
  targetElements: string[]
}

export type Action = OpenUrlAction | ExecuteAction | ToggleAction
export type Spacing = 'None' | 'Small' | 'Default' | 'Medium'

/** Shown as it is: no client looks for Markdown in it. But dates are filled in, see `plainText`. */
export interface TextRun {
  type: 'TextRun'
  text: string
  weight?: 'Bolder'
  italic?: true
  fontType?: 'Monospace'
  size?: 'Small'
  isSubtle?: true
}

export interface RichTextBlock {
  type: 'RichTextBlock'
  inlines: TextRun[]
  spacing: Spacing
  separator?: true
}

/** Markdown is drawn and moments are filled in: for our own constant words alone (T42). */
export interface TextBlock {
  type: 'TextBlock'
  text: string
  wrap: true
  size?: 'Large'
  weight?: 'Bolder'
  /** Tells screen readers; since 1.5, ignored by others. */
  style?: 'heading'
  spacing?: Spacing
  separator?: true
}

export interface Container {
  type: 'Container'
  style: 'emphasis' | 'good' | 'attention' | 'warning' | 'accent'
  spacing: Spacing
  items: (RichTextBlock | TextBlock)[]
}

export interface ActionSet {
  type: 'ActionSet'
  spacing: Spacing
  actions: Action[]
}

/** What a `ToggleAction` shows and hides. */
export interface Fold {
  type: 'Container'
  id: string
  isVisible: false
  spacing: Spacing
  items: CardElement[]
}

export type CardElement = RichTextBlock | TextBlock | Container | ActionSet | Fold

/** An Adaptive Card of ours (adaptivecards.io, schema 1.5): of its elements only those that clients of version 1.2 draw. */
interface AdaptiveCard {
  type: 'AdaptiveCard'
  version: '1.5'
  /** For clients that know no card of this version. */
  fallbackText: string
  body: CardElement[]
  actions?: Action[]
}

/** What is posted: a card, and the text of notifications. */
export interface TeamsMessage {
  card: AdaptiveCard
  text: string
}
