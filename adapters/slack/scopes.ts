/** What the app may do in a workspace, each for a reason; asked for nothing else. */
export const BOT_SCOPES = [
  // chat.postMessage, chat.update, chat.postEphemeral: cards, lines under them, answers only one person sees.
  'chat:write',
  // /verify and /countersign.
  'commands',
  // conversations.open: a card goes to an approver's direct message with the app.
  'im:write',
  // users.lookupByEmail: addresses cards to approvers who linked nobody; Slack gives it only together with users:read.
  'users:read',
  'users:read.email',
] as const
