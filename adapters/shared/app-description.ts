/** Describes the app to the person who installs it, for its manifest. @param platform its name for people */
export function longDescription(platform: 'Slack' | 'Teams'): string {
  return [
    'Agents and applications ask Countersign before they act. Each approver gets a card here: who asks, what for,',
    'until when. Approving or rejecting opens the service’s own page, where a passkey or a code confirms it; nothing is',
    `decided in ${platform}. The card follows the request until it is decided, expired or withdrawn.`,
  ].join(' ')
}
