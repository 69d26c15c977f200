/** Describes the app to the person who installs it, for its manifest. @param platform its name for people */
export function longDescription(platform: 'Slack' | 'Teams'): string {
  return [
    'Agents and applications ask for approval before they act. Each approver gets a card here: the action, the caller and',
    'the expiry. Its buttons open the service’s own page, where a passkey or a code confirms the decision; nothing is',
    `decided in ${platform}. The card follows the request until it is decided, expired or withdrawn.`,
  ].join(' ')
}
