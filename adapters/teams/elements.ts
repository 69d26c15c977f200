/** The verbs that `Action.Execute` and, on old clients, `Action.Submit` send to the bot. They decide nothing (T46). */
export const VERBS = { refresh: 'countersign.refresh', details: 'countersign.details' } as const

export type Verb = (typeof VERBS)[keyof typeof VERBS]

/** A button that opens the browser; the bot gets no notice of the click. */
export interface OpenUrlAction {
  type: 'Action.OpenUrl'
  title: string
  url: string
  /** A colour in addition to the word, where the client has one. */
  style?: 'positive' | 'destructive'
  /** Read out by screen readers; since 1.5, ignored by older clients. */
  tooltip?: string
}

/** A button that asks the bot (since 1.4); other clients send its `fallback` as a message whose `value` is the data. */
export interface ExecuteAction {
  type: 'Action.Execute'
  title: string
  verb: Verb
  data: { request_id: string }
  fallback: { type: 'Action.Submit'; title: string; data: { verb: Verb; request_id: string } }
}

/** A button that shows and hides an element, in the client alone. */
interface ToggleAction {
  type: 'Action.ToggleVisibility'
  title: string
  targetElements: string[]
}

export type Action = OpenUrlAction | ExecuteAction | ToggleAction
export type Spacing = 'None' | 'Small' | 'Default' | 'Medium'

/** Literal text: no client looks for Markdown in it. But clients fill in dates, see `plainText`. */
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

/** Text in which clients draw Markdown and fill in moments: for our own constant words alone (T42). */
export interface TextBlock {
  type: 'TextBlock'
  text: string
  wrap: true
  size?: 'Large'
  weight?: 'Bolder'
  /** Marks headings for screen readers; since 1.5, ignored by older clients. */
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

/** The element that a `ToggleAction` shows and hides. */
export interface Fold {
  type: 'Container'
  id: string
  isVisible: false
  spacing: Spacing
  items: CardElement[]
}

export type CardElement = RichTextBlock | TextBlock | Container | ActionSet | Fold

/** An Adaptive Card (adaptivecards.io, schema 1.5), limited to elements that clients of version 1.2 draw. */
interface AdaptiveCard {
  type: 'AdaptiveCard'
  version: '1.5'
  /** For clients that cannot draw cards of this version. */
  fallbackText: string
  body: CardElement[]
  actions?: Action[]
}

/** A message to post: a card, and the text of notifications. */
export interface TeamsMessage {
  card: AdaptiveCard
  text: string
}
