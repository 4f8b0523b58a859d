import type { Booking } from './bookings.ts'
import type { Day } from './days.ts'
import type { FreeRoom } from './tools-data.ts'

/** What the front desk says, in one language. Whole sentences, for a person; an AI gets the same or less, and `data`. */
export type DeskWords = {
  readonly what: string
  readonly nature: string
  readonly handoff: string
  readonly celebration: string
  readonly whenever: string
  readonly late: string
  readonly noted: (booking: string) => string
  readonly house: string
  readonly points: (points: number) => string
  readonly bookings: (bookings: readonly Booking[]) => string
  readonly whichBooking: string
  readonly whichDays: string
  readonly howMany: string
  readonly free: (rooms: readonly FreeRoom[], from: Day, to: Day) => string
  readonly freeInShort: (count: number) => string
  readonly whichRoom: string
  readonly notFree: (room: string) => string
  readonly full: string
  readonly proposed: string
  readonly signIn: string
  readonly more: string
  readonly notHere: string
  readonly wrong: string
  readonly goodbye: string
}

const formats = (locale: string) => {
  const money = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'EUR',
    trailingZeroDisplay: 'stripIfInteger',
  })
  const stay = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' })
  const list = new Intl.ListFormat(locale)
  return {
    money: (euros: number) => money.format(euros),
    stay: (from: Day, to: Day) => stay.formatRange(new Date(from), new Date(to)),
    list: (parts: readonly string[]) => list.format(parts),
    number: (count: number) => new Intl.NumberFormat(locale).format(count),
  }
}

const english: DeskWords = (() => {
  const { money, stay, list, number } = formats('en-GB')
  return {
    what: 'I am the front desk of Hotel Miramar, an AI. I can tell you which rooms are free, book one, look at your bookings and points, cancel a booking, and tell you about arriving late. I can also hand you over to a person.',
    nature: 'I am an AI, the front desk of Hotel Miramar. Say so if you would like to talk with a person.',
    handoff: 'I will ask somebody of the hotel to take over.',
    celebration: 'A celebration in our house is something that we talk over with the guests themselves.',
    whenever: 'That is all right. Write to us again whenever it suits, here or on our site.',
    late: 'Rooms are ready from three in the afternoon, and you can come as late as you like, at no cost. Until eleven there is somebody at the desk; after that, ring the bell beside the blue door and we let you in. The last bus from the station is at 22:40. If you give me the number of the booking and the time, I note it.',
    noted: (booking) => `I have noted it on booking ${booking}, for whoever is at the door.`,
    house:
      'Breakfast is included, from eight to eleven on the terrace. The bus from the station stops at the quay, the last one at 22:40. If you come by car, leave it at the top of the village: we fetch your bags with the cart.',
    points: (points) => `You have ${number(points)} points. 1,000 are a night in the room Limonero.`,
    bookings: (bookings) =>
      bookings.length === 0
        ? 'You have no bookings ahead.'
        : `You have ${list(bookings.map((one) => `${one.id}, the room ${one.roomName} from ${stay(one.arrival, one.departure)}${one.status === 'cancelled' ? ', which is cancelled' : ''}`))}.`,
    whichBooking: 'Which booking is it? Give me its number, such as MIR-3121.',
    whichDays: 'For which days? Give me the day of arrival and the day of leaving.',
    howMany: 'For how many people?',
    free: (rooms, from, to) =>
      `From ${stay(from, to)} these rooms are free: ${list(rooms.map((room) => `${room.name} for ${money(room.total)}, which sleeps ${room.sleeps}`))}. Prices are for the whole stay, with breakfast.`,
    freeInShort: (count) => (count === 1 ? 'One room is free.' : `${count} rooms are free.`),
    whichRoom: 'Which of them shall it be?',
    notFree: (room) => `${room} is not free on those days.`,
    full: 'The house is full on those days. Try a day earlier or later.',
    proposed: 'I have proposed it. Nothing is done before you have confirmed it.',
    signIn: 'For this I need you to sign in at Hotel Miramar, so that I know whose bookings these are.',
    more: 'You are signed in, and for this I need you to allow more.',
    notHere: 'Your assistant cannot confirm bookings with us, so please do this on our site or ask me for a person.',
    wrong: 'That did not work just now. Please try again in a moment, or ask for a person.',
    goodbye: 'Thank you, and see you soon.',
  }
})()

const german: DeskWords = (() => {
  const { money, stay, list, number } = formats('de')
  return {
    what: 'Ich bin die Rezeption des Hotels Miramar, eine KI. Ich sage Ihnen, welche Zimmer frei sind, buche eines, sehe nach Ihren Buchungen und Punkten, storniere eine Buchung und weiß Bescheid über späte Anreise. Ich kann auch an einen Menschen übergeben.',
    nature:
      'Ich bin eine KI, die Rezeption des Hotels Miramar. Sagen Sie es, wenn Sie mit einem Menschen sprechen möchten.',
    handoff: 'Ich bitte jemanden aus dem Haus, zu übernehmen.',
    celebration: 'Eine Feier in unserem Haus besprechen wir mit den Gästen selbst.',
    whenever: 'Das macht nichts. Schreiben Sie uns, wann es Ihnen passt, hier oder auf unserer Seite.',
    late: 'Zimmer sind ab drei Uhr nachmittags bereit, und Sie können so spät kommen, wie Sie möchten, ohne Kosten. Bis elf Uhr abends ist jemand an der Rezeption; danach läuten Sie an der blauen Tür, und wir lassen Sie ein. Der letzte Bus vom Bahnhof fährt um 22:40 Uhr. Mit der Nummer der Buchung und der Uhrzeit notiere ich es.',
    noted: (booking) => `Ich habe es bei der Buchung ${booking} notiert.`,
    house:
      'Das Frühstück ist inbegriffen, von acht bis elf auf der Terrasse. Der Bus vom Bahnhof hält am Kai, der letzte um 22:40 Uhr. Das Auto bleibt oben im Dorf: Wir holen Ihr Gepäck mit dem Karren.',
    points: (points) => `Sie haben ${number(points)} Punkte. 1.000 sind eine Nacht im Zimmer Limonero.`,
    bookings: (bookings) =>
      bookings.length === 0
        ? 'Sie haben keine Buchungen vor sich.'
        : `Sie haben ${list(bookings.map((one) => `${one.id}, das Zimmer ${one.roomName}, ${stay(one.arrival, one.departure)}${one.status === 'cancelled' ? ', storniert' : ''}`))}.`,
    whichBooking: 'Welche Buchung ist es? Nennen Sie mir ihre Nummer, zum Beispiel MIR-3121.',
    whichDays: 'Für welche Tage? Nennen Sie mir Anreise und Abreise.',
    howMany: 'Für wie viele Personen?',
    free: (rooms, from, to) =>
      `Vom ${stay(from, to)} sind frei: ${list(rooms.map((room) => `${room.name} für ${money(room.total)}, für bis zu ${room.sleeps} Personen`))}. Die Preise gelten für den ganzen Aufenthalt, mit Frühstück.`,
    freeInShort: (count) => (count === 1 ? 'Ein Zimmer ist frei.' : `${count} Zimmer sind frei.`),
    whichRoom: 'Welches davon soll es sein?',
    notFree: (room) => `${room} ist an diesen Tagen nicht frei.`,
    full: 'An diesen Tagen ist das Haus voll. Versuchen Sie einen Tag früher oder später.',
    proposed: 'Ich habe es vorgeschlagen. Nichts geschieht, bevor Sie es bestätigt haben.',
    signIn: 'Dafür müssen Sie sich beim Hotel Miramar anmelden, damit ich weiß, wessen Buchungen es sind.',
    more: 'Sie sind angemeldet, und dafür müssen Sie mehr erlauben.',
    notHere:
      'Ihr Assistent kann bei uns keine Buchungen bestätigen. Bitte tun Sie es auf unserer Seite, oder fragen Sie nach einem Menschen.',
    wrong:
      'Das hat eben nicht geklappt. Bitte versuchen Sie es gleich noch einmal, oder fragen Sie nach einem Menschen.',
    goodbye: 'Vielen Dank und bis bald.',
  }
})()

/** The words for a language tag: German where it says so, else English. */
export function deskWords(locale: string): DeskWords {
  return /^de\b/i.test(locale) ? german : english
}
