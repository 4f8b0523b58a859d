import type { Words } from './words.ts'

/** The same in German. The polite form throughout; an agent is “er”. */
export const de: Words = {
  'account.yours': 'Ihr Konto: {account}',
  'account.switch': 'Anderes Konto verwenden',
  'agent.from': 'von {host}',
  'time.lessThanAMinuteAgo': 'vor weniger als einer Minute',
  'time.lastDay': 'in den letzten 24 Stunden',
  'time.onDay': 'am {date}',

  'consent.title': '{agent} Zugriff geben – {organization}',
  'consent.heading': '{agent} bittet um Zugriff auf Ihr Konto',
  'consent.device': 'Angefragt {ago}, mit dem Code {code}',
  'consent.rights': 'Der Agent könnte dann für Sie:',
  'consent.lasts': 'Das gilt {time}, falls Sie es nicht vorher unter {page} beenden.',
  'consent.lastsUntilEnded': 'Das gilt, bis Sie es unter {page} beenden.',
  'consent.connectedAgents': 'Verbundene Agenten',
  'consent.careful': 'Stimmen Sie nur zu, wenn Sie selbst darum gebeten haben.',
  'consent.carefulWithCode': 'Stimmen Sie nur zu, wenn Sie das selbst begonnen haben und Ihr Agent diesen Code zeigt.',
  'consent.chooseOne': 'Wählen Sie mindestens ein Recht aus, um zuzustimmen, oder lehnen Sie ab.',
  'consent.decline': 'Ablehnen',
  'consent.approve': 'Zustimmen',

  'code.title': 'Code eingeben – {organization}',
  'code.heading': 'Geben Sie den Code ein, den Ihr Agent anzeigt',
  'code.label': 'Code',
  'code.careful':
    'Geben Sie einen Code nur ein, wenn Sie das selbst mit Ihrem eigenen Agenten begonnen haben. Niemand von {organization} wird Sie je darum bitten.',
  'code.continue': 'Weiter',
  'code.unknown': 'Diesen Code hat kein Agent angezeigt. Prüfen Sie ihn Zeichen für Zeichen.',
  'code.tooManyGuesses':
    'Es wurden zu viele falsche Codes eingegeben. Warten Sie {time} und lassen Sie sich dann von Ihrem Agenten einen neuen geben.',
  'approved.title': 'Ihr Agent hat jetzt Zugriff',
  'approved.text': 'Sie können diese Seite schließen und zu Ihrem Agenten zurückkehren.',
  'declined.title': 'Abgelehnt',
  'declined.text':
    'Der Agent hat keinen Zugriff erhalten. Wenn Sie das nicht selbst begonnen haben, müssen Sie nichts weiter tun.',

  'agents.title': 'Verbundene Agenten – {organization}',
  'agents.heading': 'Agenten, die für Sie handeln',
  'agents.none': 'Kein Agent hat Zugriff auf Ihr Konto. Wenn Sie einem Agenten Zugriff geben, steht er hier.',
  'agents.connected.direct': 'Verbunden {day}, durch Ihre Zustimmung auf unserer Seite.',
  'agents.connected.device': 'Verbunden {day}, durch einen Code, den Sie eingegeben haben.',
  'agents.connected.mediated': 'Verbunden {day}, mit den Zugangsdaten, die Sie ihm gegeben haben.',
  'agents.lastUsed': 'Zuletzt aktiv {day}.',
  'agents.takeAway': 'Entziehen',
  'agents.takeAwayThis': 'Entziehen: {right}',
  'agents.disconnect': 'Verbindung trennen',
  'agents.disconnectThis': 'Verbindung trennen: {agent}, {host}',
  'agents.disconnectAll': 'Alle Verbindungen trennen',
  'agents.disconnectAllAgents': 'Alle Verbindungen trennen',
  'agents.endsAtOnce': 'Der Zugriff endet sofort. Was ein Agent schon getan hat, bleibt, wie es ist.',
  'agents.takenAway': 'Erledigt. Der Agent kann das nicht mehr tun.',
  'agents.disconnected': 'Erledigt. Der Agent hat keinen Zugriff mehr auf Ihr Konto.',
  'agents.allDisconnected': 'Erledigt. Kein Agent hat mehr Zugriff auf Ihr Konto.',

  'operation.title': 'Bestätigen – {organization}',
  'operation.heading': '{agent} bittet Sie um Bestätigung',
  'operation.headingOver': '{agent} hat das vorgeschlagen',
  'operation.terms': 'Im Einzelnen',
  'operation.yes': 'Ja',
  'operation.no': 'Nein',
  'operation.until': 'Sie können das noch {time} lang bestätigen. Vorher geschieht nichts.',
  'operation.careful': 'Bestätigen Sie nur, wenn Sie genau das wollen.',
  'operation.decline': 'Ablehnen',
  'operation.confirm': 'Bestätigen',
  'operation.changed':
    'Die Bedingungen haben sich geändert, seit Sie diese Seite geöffnet haben, und es wurde nichts bestätigt. Lesen Sie sie noch einmal.',
  'operation.inProgress': 'Das ist bestätigt und wird ausgeführt. Sie können diese Seite schließen.',
  'operation.succeeded': 'Das ist erledigt. Sie können diese Seite schließen.',
  'operation.failed': 'Das ist nicht geschehen, und es wurde nichts geändert.',
  'operation.cancelled': 'Das wurde abgebrochen. Nichts davon ist geschehen.',
  'operation.expired':
    'Niemand hat das rechtzeitig bestätigt, und es ist nichts geschehen. Wenn Sie es noch wollen, fragen Sie Ihren Agenten noch einmal.',
  'operation.others': 'Das gehört zu einem anderen Konto',
  'operation.othersText':
    'Es wurde nichts geändert. Um es zu sehen, verwenden Sie das Konto, für das Ihr Agent gefragt hat.',

  // 7
  'people.noneNow': 'Bei {organization} kann gerade niemand übernehmen.',
  'people.noneCame': 'Bei {organization} war nicht rechtzeitig jemand frei, um zu übernehmen.',
  'people.hours': 'Menschen übernehmen zu diesen Zeiten: {hours}.',
  'people.agentGoesOn': 'Ich kann hier weiterhelfen.',
  'people.writeAgain': 'Sie können jederzeit wieder schreiben.',
  'people.signIn': 'Um weiterzumachen, brauche ich die Anmeldung bei Ihrem Konto.',
  'people.moreRights': 'Um weiterzumachen, brauche ich in der Anmeldung bei Ihrem Konto weitere Rechte: {rights}.',

  // Gespräche: was der Agent des Unternehmens sagt, wo ihm eigene Worte fehlen
  'turn.failed':
    'Bei uns ist etwas schiefgegangen, und ich kann das jetzt nicht beantworten. Was vorher gesagt und vereinbart wurde, gilt. Bitte fragen Sie noch einmal, oder verlangen Sie einen Menschen.',
  'turn.tooLong':
    'Das hat länger gedauert, als es darf, und ich habe abgebrochen. Was vorher gesagt und vereinbart wurde, gilt. Bitte fragen Sie noch einmal, oder verlangen Sie einen Menschen.',
  'turn.needsExtension':
    'Das geht nicht über Ihren Agenten: Ihm fehlt ein Teil des Protokolls, den es hier braucht. Bitte tun Sie es auf unserer Website.',

  // Vorgänge, von denen im Gespräch berichtet wird
  'news.revised': 'Die Bedingungen sind jetzt andere, und nichts wurde bestätigt: {summary}',
  'news.succeeded': 'Das ist erledigt: {summary}',
  'news.failed': 'Das ist nicht geschehen, und es wurde nichts geändert: {summary}',
  'news.cancelled': 'Das wurde abgebrochen: {summary}',
  'news.expired': 'Niemand hat das rechtzeitig bestätigt, und nichts ist geschehen: {summary}',

  'untrusted.title': 'Dieser Anfrage ist nicht zu trauen',
  'untrusted.why':
    'Der Agent, der Sie hierher geschickt hat, konnte nicht überprüft werden, oder er wollte Sie an eine Adresse schicken, die nicht seine eigene ist.',
  'foreignForm.title': 'Dieses Formular kam von woanders',
  'foreignForm.why': 'Es wurde nicht von unserer eigenen Seite abgeschickt.',
  'incompleteForm.title': 'Dieses Formular ist nicht vollständig',
  'incompleteForm.why': 'Etwas darin fehlt oder wurde verändert.',
  'oldPage.title': 'Diese Seite ist zu alt',
  'oldPage.why': 'Sie war länger als eine halbe Stunde offen.',
  'allEnded.title': 'Diese Seite ist zu alt',
  'allEnded.why': 'Seit sie geöffnet wurde, ist allen Agenten der Zugriff entzogen worden.',
  'otherAccount.title': 'Sie sind nicht mehr wie zuvor angemeldet',
  'otherAccount.why': 'Seit diese Seite geöffnet wurde, hat das Konto gewechselt.',
  'answered.title': 'Sie haben das schon beantwortet',
  'answered.why': 'Es gilt Ihre erste Antwort.',
  'codeExpired.title': 'Dieser Code ist abgelaufen',
  'codeExpired.why': 'Er galt zehn Minuten lang.',
  'codeAnswered.title': 'Dieser Code ist schon beantwortet',
  'codeAnswered.why': 'Es gilt die erste Antwort.',
  'agentRefused.title': 'Dieser Agent kann keinen Zugriff erhalten',
  'agentRefused.why': 'Er konnte nicht überprüft werden oder ist hier nicht zugelassen.',
  'agentBlocked.title': 'Dieser Agent kann keinen Zugriff erhalten',
  'agentBlocked.why': 'Er ist hier nicht mehr zugelassen.',
  'browserRefused.title': 'Dieser Browser wurde nicht angenommen',
  'browserRefused.why':
    'Was Ihr Agent geschickt hat, war unvollständig, zu alt, schon einmal verwendet oder nicht sein eigenes.',
  'agentsBrowser.title': 'Diese Seite ist für einen Menschen',
  'agentsBrowser.why':
    'Diesen Browser benutzt ein persönlicher Agent, und was Sie hier entscheiden, kann er nicht für Sie entscheiden.',
  'noOperation.title': 'Hier gibt es nichts zu bestätigen',
  'noOperation.why': 'Die Adresse ist nicht vollständig, oder es ist längst vorbei.',
  'unread.title': 'Diese Anfrage war nicht zu lesen',
  'unread.why': 'Etwas darin fehlt, ist zu lang oder gehört nicht hierher.',
  'ours.title': 'Bei uns ist etwas schiefgegangen',
  'ours.why': 'Das liegt nicht an Ihnen.',
  'tooMany.title': 'Gerade zu viele Anfragen',
  'tooMany.why': 'Sie kamen aus Ihrem Netz, von Ihrem Konto oder von Ihrem Agenten.',

  'outcome.noAccess':
    'Es wurde nichts geändert, und der Agent hat keinen Zugriff erhalten. Beginnen Sie bei Ihrem Agenten noch einmal.',
  'outcome.noAccessClose':
    'Es wurde nichts geändert, und der Agent hat keinen Zugriff erhalten. Schließen Sie diese Seite; wenn Sie sie erwartet haben, beginnen Sie bei Ihrem Agenten noch einmal.',
  'outcome.noAccessAtAll':
    'Es wurde nichts geändert, und der Agent hat keinen Zugriff erhalten. Sie können diese Seite schließen.',
  'outcome.noAccessNewCode':
    'Es wurde nichts geändert, und der Agent hat keinen Zugriff erhalten. Lassen Sie sich von Ihrem Agenten einen neuen Code geben.',
  'outcome.startAgain': 'Um sie zu ändern, beginnen Sie bei Ihrem Agenten noch einmal.',
  'outcome.unchanged': 'Es wurde nichts geändert. Versuchen Sie es von Ihrem Agenten aus noch einmal.',
  'outcome.ownBrowser':
    'Es wurde nichts geändert. Öffnen Sie die Seite in Ihrem eigenen Browser. Ist dies Ihr eigener, dann löschen Sie die Cookies dieser Website und kommen Sie wieder.',
  'outcome.goBack': 'Es wurde nichts geändert. Gehen Sie zurück zu {path} und versuchen Sie es noch einmal.',
  'outcome.wait':
    'Es wurde nichts geändert. Warten Sie {time}, gehen Sie dann zurück und versuchen Sie es noch einmal.',
}
