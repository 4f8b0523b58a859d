/**
 * Everything that people read on the library's pages, in English. `{name}` is a place that something is put into; each
 * other language has the same words with the same places. Second person, plain, no jargon: what happened, whether anything
 * was changed, what to do next.
 */
export const en = {
  // On several pages
  'account.yours': 'Your account: {account}',
  'account.switch': 'Use another account',
  'agent.from': 'from {host}',
  'time.lessThanAMinuteAgo': 'less than a minute ago',
  'time.lastDay': 'in the last 24 hours',
  'time.onDay': 'on {date}',

  // 4.5, 4.6: the page on which a person lets an agent in
  'consent.title': 'Let {agent} in – {organization}',
  'consent.heading': '{agent} asks for access to your account',
  'consent.device': 'It asked {ago}, with the code {code}',
  'consent.rights': 'It could then, for you:',
  'consent.lasts': 'This lasts {time}, unless you end it sooner under {page}.',
  'consent.lastsUntilEnded': 'This lasts until you end it under {page}.',
  'consent.connectedAgents': 'connected agents',
  'consent.careful': 'Approve only if you asked for this yourself.',
  'consent.carefulWithCode': 'Approve only if you started this yourself and your agent shows this code.',
  'consent.chooseOne': 'Choose at least one right to approve, or decline.',
  'consent.decline': 'Decline',
  'consent.approve': 'Approve',

  // 4.6: where a code is typed, and what became of it
  'code.title': 'Enter a code – {organization}',
  'code.heading': 'Enter the code that your agent shows',
  'code.label': 'Code',
  'code.careful':
    'Enter a code only if you started this yourself, with your own agent. Nobody from {organization} will ever ask you to.',
  'code.continue': 'Continue',
  'code.unknown': 'No agent has shown this code. Check it, letter by letter.',
  'code.tooManyGuesses': 'There were too many wrong codes. Wait {time}, then ask your agent for a new one.',
  'approved.title': 'Your agent is in',
  'approved.text': 'You can close this page and go back to your agent.',
  'declined.title': 'Declined',
  'declined.text': 'The agent got no access. If you did not start this yourself, there is nothing more to do.',

  // 4.9: the page on which a person sees who acts for them, and ends it
  'agents.title': 'Connected agents – {organization}',
  'agents.heading': 'Agents that act for you',
  'agents.none': 'No agent has access to your account. One that you let in will be listed here.',
  'agents.connected.direct': 'Connected {day}, by your approval on our page.',
  'agents.connected.device': 'Connected {day}, by a code that you entered.',
  'agents.connected.mediated': 'Connected {day}, with the credentials that you gave it.',
  'agents.lastUsed': 'Last used {day}.',
  'agents.takeAway': 'Take away',
  'agents.takeAwayThis': 'Take away: {right}',
  'agents.disconnect': 'Disconnect',
  'agents.disconnectThis': 'Disconnect {agent} from {host}',
  'agents.disconnectAll': 'Disconnect all',
  'agents.disconnectAllAgents': 'Disconnect all agents',
  'agents.endsAtOnce': 'It ends at once. What an agent has done already stays as it is.',
  'agents.takenAway': 'Done. The agent can no longer do that.',
  'agents.disconnected': 'Done. The agent no longer has access to your account.',
  'agents.allDisconnected': 'Done. No agent has access to your account any more.',

  // Operations: the page on which a person confirms what an agent proposed
  'operation.title': 'Confirm – {organization}',
  'operation.heading': '{agent} asks you to confirm',
  'operation.headingOver': '{agent} proposed this',
  'operation.terms': 'In detail',
  'operation.yes': 'Yes',
  'operation.no': 'No',
  'operation.until': 'You can confirm this for another {time}. Nothing is done before.',
  'operation.careful': 'Confirm only if you want exactly this.',
  'operation.decline': 'Decline',
  'operation.confirm': 'Confirm',
  'operation.changed': 'The terms have changed since you opened this page, and nothing was confirmed. Read them again.',
  'operation.inProgress': 'This is confirmed, and is being done. You can close this page.',
  'operation.succeeded': 'This is done. You can close this page.',
  'operation.failed': 'This did not happen, and nothing was changed.',
  'operation.cancelled': 'This was cancelled. Nothing of it is done.',
  'operation.expired':
    'Nobody confirmed this in time, and nothing was done. If you still want it, ask your agent again.',
  'operation.others': 'This is for another account',
  'operation.othersText': 'Nothing was changed. To see it, use the account that your agent asked for.',

  // 7: what is said in a conversation in the Company Agent’s name, or for a member of staff who asks for it
  'people.noneNow': 'Nobody at {organization} can take over right now.',
  'people.noneCame': 'Nobody at {organization} was free to take over in time.',
  'people.hours': 'People take over at these times: {hours}.',
  'people.agentGoesOn': 'I can go on helping here.',
  'people.writeAgain': 'You can write again at any time.',
  'people.signIn': 'To go on, I need the sign-in to your account.',
  'people.moreRights': 'To go on, I need the sign-in to your account to include more rights: {rights}.',

  // Conversations: what the Company Agent says where its own words are missing
  'turn.failed':
    'Something went wrong on our side, and I can’t answer this now. What was said and agreed before stands. Please ask again, or ask for a person.',
  'turn.tooLong':
    'This took longer than it may, so I stopped. What was said and agreed before stands. Please ask again, or ask for a person.',
  'turn.needsExtension':
    'This can’t be done through your agent: it lacks a part of the protocol that it takes here. Please do it on our website.',

  // Operations that are told in their conversation
  'news.revised': 'The terms are others now, and nothing was confirmed: {summary}',
  'news.succeeded': 'This is done: {summary}',
  'news.failed': 'This did not happen, and nothing was changed: {summary}',
  'news.cancelled': 'This was cancelled: {summary}',
  'news.expired': 'Nobody confirmed this in time, and nothing was done: {summary}',

  // What went wrong: a title and why, followed by one of the outcomes
  'untrusted.title': 'This request can’t be trusted',
  'untrusted.why':
    'The agent that sent you here could not be checked, or asked to send you to an address that isn’t its own.',
  'foreignForm.title': 'This form came from somewhere else',
  'foreignForm.why': 'It was not sent from our own page.',
  'incompleteForm.title': 'This form isn’t complete',
  'incompleteForm.why': 'Something of it is missing or was changed.',
  'oldPage.title': 'This page is too old',
  'oldPage.why': 'It waited longer than half an hour.',
  'allEnded.title': 'This page is too old',
  'allEnded.why': 'The access of all agents was ended after it was opened.',
  'otherAccount.title': 'You are not signed in as before',
  'otherAccount.why': 'The account changed since this page was opened.',
  'answered.title': 'You already answered this',
  'answered.why': 'Your first answer counts.',
  'codeExpired.title': 'This code has expired',
  'codeExpired.why': 'It was good for ten minutes.',
  'codeAnswered.title': 'This code was answered already',
  'codeAnswered.why': 'The first answer counts.',
  'agentRefused.title': 'This agent can’t be let in',
  'agentRefused.why': 'It could not be checked, or may not come here.',
  'agentBlocked.title': 'This agent can’t be let in',
  'agentBlocked.why': 'It may not come here any more.',
  'browserRefused.title': 'This browser could not be let in',
  'browserRefused.why': 'What your agent sent was not complete, too old, used before, or not its own.',
  'agentsBrowser.title': 'This page is for a person',
  'agentsBrowser.why': 'A personal agent uses this browser, and what you decide here it can’t decide for you.',
  'noOperation.title': 'There is nothing to confirm here',
  'noOperation.why': 'The address is not complete, or what it was about is long over.',
  'unread.title': 'This request could not be read',
  'unread.why': 'Something of it is missing, too long, or not what belongs here.',
  'ours.title': 'Something went wrong on our side',
  'ours.why': 'It is not your fault.',
  'tooMany.title': 'Too many requests just now',
  'tooMany.why': 'They came from your network, your account or your agent.',

  // What that means, and what to do
  'outcome.noAccess': 'Nothing was changed, and the agent got no access. Start again from your agent.',
  'outcome.noAccessClose':
    'Nothing was changed, and the agent got no access. Close this page; if you were expecting it, start again from your agent.',
  'outcome.noAccessAtAll': 'Nothing was changed, and the agent got no access. You can close this page.',
  'outcome.noAccessNewCode': 'Nothing was changed, and the agent got no access. Ask your agent for a new one.',
  'outcome.startAgain': 'To change it, start again from your agent.',
  'outcome.unchanged': 'Nothing was changed. Try again from your agent.',
  'outcome.ownBrowser':
    'Nothing was changed. Open the page in your own browser. If this is your own, delete the cookies of this site and come back.',
  'outcome.goBack': 'Nothing was changed. Go back to {path} and try again.',
  'outcome.wait': 'Nothing was changed. Wait {time}, then go back and try again.',
} as const
