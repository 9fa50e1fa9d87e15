// The firms' cards.

import { setText, slot } from "./slots.js";

const WIDTH = 96;
const HEIGHT = 24;

// As `spark_of` in dashboards/figures.py draws it: in a box that always holds zero.
function sparkOf(amounts) {
  const low = Math.min(0, ...amounts);
  const high = Math.max(0, ...amounts);
  const y = (amount) => (1 + ((high - amount) / (high - low || 1)) * (HEIGHT - 2)).toFixed(1);
  const x = (index) => ((index * WIDTH) / (amounts.length - 1)).toFixed(1);
  return { points: amounts.map((amount, index) => `${x(index)},${y(amount)}`).join(" "), zero: y(0) };
}

export class Cards {
  constructor(chart) {
    this.chart = chart;
    this.cards = new Map([...document.querySelectorAll(".card")].map((card) => [card.dataset.firm, card]));
    this.drawSparks();
  }

  update({ lines, evenings, standings }) {
    for (const [firm, standing] of Object.entries(standings)) this.showStanding(this.cards.get(firm), standing);
    for (const [firm, books] of Object.entries(evenings.at(-1)?.firms ?? {})) this.showDebts(this.cards.get(firm), books);
    const last = new Map(lines.filter((line) => line.is_action).map((line) => [line.firm, line]));
    for (const [firm, line] of last) this.showLast(this.cards.get(firm), line);
    if (evenings.length) queueMicrotask(() => this.drawSparks()); // once the chart has them
  }

  showStanding(card, standing) {
    if (!card) return;
    for (const name of ["net_income", "cash", "stock", "bankrupt", "alarms"]) setText(slot(card, name), standing[name]);
    slot(card, "net_income").className = `figure ${standing.sign}`;
    slot(card, "cash").className = standing.cash_sign;
    slot(card, "plain").style.inlineSize = `${standing.plain_percent}%`;
    slot(card, "specialty").style.inlineSize = `${standing.specialty_percent}%`;
    card.toggleAttribute("data-bankrupt", Boolean(standing.bankrupt));
  }

  showDebts(card, { debts }) {
    for (const [name, text] of Object.entries(debts)) setText(card && slot(card, name), text);
  }

  showLast(card, line) {
    if (!card) return;
    const when = Object.assign(document.createElement("span"), { className: "hint" });
    when.textContent = `Day ${line.day} · ${line.weekday} ${line.clock}`;
    const what = document.createElement("bdi");
    what.textContent = line.text;
    slot(card, "last").replaceChildren(when, " ", what);
  }

  drawSparks() {
    for (const [firm, card] of this.cards) {
      const amounts = this.chart.amountsOf(firm);
      if (amounts.length < 2) continue;
      const { points, zero } = sparkOf(amounts);
      card.querySelector("polyline").setAttribute("points", points);
      for (const end of ["y1", "y2"]) card.querySelector(".spark line").setAttribute(end, zero);
    }
  }
}
