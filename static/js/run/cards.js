// The firms' cards: as they stand, or as they stood in the evening of a day, out of the evenings that came with the page.

import { setText, slot } from "./slots.js";

const WIDTH = 96;
const HEIGHT = 24;
const UNKNOWN = "–";

// As `spark_of` in dashboards/figures.py draws it: in a box that always holds zero.
function sparkOf(amounts) {
  const low = Math.min(0, ...amounts);
  const high = Math.max(0, ...amounts);
  const y = (amount) => (1 + ((high - amount) / (high - low || 1)) * (HEIGHT - 2)).toFixed(1);
  const x = (index) => ((index * WIDTH) / (amounts.length - 1)).toFixed(1);
  return { points: amounts.map((amount, index) => `${x(index)},${y(amount)}`).join(" "), zero: y(0) };
}

// As `dashboards.words` writes amounts: a true minus sign, and never a negative zero.
const formats = [0, 2].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const text = (amount, digits) => formats[digits ? 1 : 0].format(amount).replace(/^-(?=[0.,]*$)/, "").replace("-", "−");
const signOf = (amount) => (Math.round(amount * 100) > 0 ? "gain" : Math.round(amount * 100) < 0 ? "loss" : "even");
const share = (part, whole) => (whole ? Math.min(100, (100 * part) / whole) : 0);

export class Cards {
  constructor(look, { run, evenings, standings, lasts, state }) {
    Object.assign(this, { look, run, evenings, standings, lasts, today: state.today });
    this.cards = new Map([...document.querySelectorAll(".card")].map((card) => [card.dataset.firm, card]));
    look.addEventListener("change", ({ detail }) => (detail.day || detail.as) && this.show());
    this.show();
  }

  update({ lines, evenings, standings, state }) {
    Object.assign(this.standings, standings);
    if (state) this.today = state.today;
    for (const { day, firms } of evenings) {
      for (const [firm, { books }] of Object.entries(firms)) this.addEvening(firm, day, books);
    }
    for (const line of lines) if (line.is_action) this.lasts[line.firm] = line;
    if (this.look.isLive) this.show();
  }

  // An evening that is known already, from the snapshot, is the same evening: it is replaced.
  addEvening(firm, day, books) {
    const known = this.evenings[firm];
    if (!known) return;
    const at = known.day.lastIndexOf(day);
    if (at < 0 && known.day.length && day < known.day.at(-1)) return;
    for (const [name, amount] of Object.entries({ day, ...books })) {
      if (at < 0) known[name].push(amount);
      else known[name][at] = amount;
    }
  }

  show() {
    for (const [firm, card] of this.cards) {
      const isUnknown = Boolean(this.look.as) && this.look.as !== firm;
      card.toggleAttribute("data-unknown", isUnknown);
      this.linkTurns(card.querySelector("h2 a"), firm, isUnknown);
      if (isUnknown) this.showUnknown(card, this.bankruptcyTold(firm));
      else if (this.look.isLive) this.showNow(card, firm);
      else this.showEvening(card, firm, this.look.day);
    }
  }

  // What a firm was told and did leads nowhere for those who do not know it.
  linkTurns(link, firm, isUnknown) {
    if (isUnknown) link.removeAttribute("href");
    else link.href = `/runs/${this.run}/firms/${encodeURIComponent(firm)}/`;
  }

  showNow(card, firm) {
    const evenings = this.evenings[firm];
    const last = evenings.day.length - 1;
    this.showStanding(card, this.standings[firm]);
    this.showDebts(card, last < 0 ? null : evenings.receivables[last], last < 0 ? null : evenings.payables[last]);
    this.showLast(card, this.lasts[firm], last < 0 ? "Nothing yet" : "Nothing lately");
    this.showSpark(card, evenings.net_income);
  }

  // Before its first evening a firm has no books: all it has is a dash.
  showEvening(card, firm, day) {
    const evenings = this.evenings[firm];
    const count = evenings.day.findLastIndex((each) => each <= day) + 1;
    const at = count - 1;
    if (count) this.showStanding(card, this.standingAt(firm, evenings, at, day));
    else this.showUnknown(card);
    this.showDebts(card, evenings.receivables[at] ?? null, evenings.payables[at] ?? null);
    this.showSpark(card, evenings.net_income.slice(0, count));
    if (this.pastLasts?.day === day) this.showLast(card, this.pastLasts.lasts.get(firm));
  }

  standingAt(firm, evenings, at, day) {
    const now = this.standings[firm];
    const [income, cash, plain, specialty] = ["net_income", "cash", "plain_kg", "specialty_kg"].map((name) => evenings[name][at]);
    const isBankrupt = now.bankrupt_day !== null && now.bankrupt_day <= day;
    return {
      net_income: text(income, 2),
      sign: signOf(income),
      cash: text(cash, 0),
      cash_sign: signOf(cash),
      stock: `${text(plain + specialty, 0)} of ${text(now.cap_kg, 0)} kg`,
      plain_percent: share(plain, now.cap_kg),
      specialty_percent: share(specialty, now.cap_kg),
      bankrupt: isBankrupt ? now.bankrupt : "",
      alarms: this.pastAlarms?.day === day ? this.pastAlarms.firms[firm] : "",
    };
  }

  // Every firm is told the next morning.
  bankruptcyTold(firm) {
    const { bankrupt, bankrupt_day: day } = this.standings[firm];
    return day !== null && day < (this.look.day ?? this.today) ? bankrupt : "";
  }

  showUnknown(card, bankrupt = "") {
    const nothing = { net_income: UNKNOWN, cash: UNKNOWN, stock: UNKNOWN, bankrupt, alarms: "" };
    this.showStanding(card, { ...nothing, sign: "even", cash_sign: "even", plain_percent: 0, specialty_percent: 0 });
    this.showDebts(card, null, null);
    this.showSpark(card, []);
    slot(card, "last").replaceChildren(hint(this.look.as ? `Not known to ${this.look.as}` : "Nothing yet"));
  }

  showStanding(card, standing) {
    for (const name of ["net_income", "cash", "stock", "bankrupt", "alarms"]) setText(slot(card, name), standing[name]);
    slot(card, "alarms").title = standing.alarms;
    slot(card, "net_income").className = `amount ${standing.sign}`;
    slot(card, "cash").className = standing.cash_sign;
    slot(card, "plain").style.inlineSize = `${standing.plain_percent}%`;
    slot(card, "specialty").style.inlineSize = `${standing.specialty_percent}%`;
    card.toggleAttribute("data-bankrupt", Boolean(standing.bankrupt));
  }

  showDebts(card, receivables, payables) {
    setText(slot(card, "receivables"), receivables === null ? UNKNOWN : text(receivables, 0));
    setText(slot(card, "payables"), payables === null ? UNKNOWN : text(payables, 0));
  }

  showLast(card, line, otherwise = "Nothing lately") {
    if (!line) return slot(card, "last").replaceChildren(hint(otherwise));
    const what = document.createElement("bdi");
    what.textContent = line.text;
    slot(card, "last").replaceChildren(hint(`Day ${line.day} · ${line.weekday} ${line.clock}`), " ", what);
  }

  // What each firm did last before the evening of a day: the tape has just fetched it. Until then the card says what
  // it said.
  showLasts(lasts) {
    this.pastLasts = { day: this.look.day, lasts };
    if (!this.look.isLive) this.show();
  }

  // What each firm had done wrong by the evening of a day.
  showAlarms(day, firms) {
    this.pastAlarms = { day, firms };
    this.show();
  }

  showSpark(card, amounts) {
    const { points, zero } = amounts.length < 2 ? { points: "", zero: 0 } : sparkOf(amounts);
    card.querySelector("polyline").setAttribute("points", points);
    for (const end of ["y1", "y2"]) card.querySelector(".spark line").setAttribute(end, zero);
  }
}

function hint(words) {
  return Object.assign(document.createElement("span"), { className: "hint", textContent: words });
}
