// One chart of a tab in its place: title, tools, drawing, the numbers behind it.

import { cutTrace, pointsIn } from "./figure_data.js";
import { dressed } from "./dress.js";
import { setText } from "./slots.js";

const plotly = new Promise((resolve) => {
  if (window.Plotly) resolve(window.Plotly);
  else document.getElementById("plotly").addEventListener("load", () => resolve(window.Plotly));
});

const template = document.getElementById("figure").content;
let ids = 0;

export class Plot {
  // `address(what, day)` gives the address of the figure's CSV file or its table; `onHover(day or null)` is told which
  // day is pointed at.
  constructor(place, name, { address, onHover, onSize }) {
    Object.assign(this, { place, name, address, onHover });
    this.revision = 0;
    this.isDirty = false;
    this.isNear = false;
    place.replaceChildren(template.cloneNode(true));
    const find = (selector) => place.querySelector(selector);
    Object.assign(this, { title: find(".figure-title"), canvas: find(".plot-canvas"), empty: find(".plot-empty") });
    Object.assign(this, { line: find(".hover-line"), numbers: find(".figure-numbers"), csv: find("[data-csv]") });
    this.title.id = `figure-${(ids += 1)}`;
    this.canvas.setAttribute("aria-labelledby", this.title.id);
    if (place.dataset.empty) this.empty.textContent = place.dataset.empty;
    find("[data-png]").addEventListener("click", () => this.savePicture());
    this.button = find("[data-numbers]");
    this.button.addEventListener("click", () => this.toggleNumbers());
    this.sizes = new ResizeObserver(() => onSize(this));
    this.sizes.observe(this.canvas);
    this.sight = new IntersectionObserver(([entry]) => this.seen(entry.isIntersecting, onSize), { rootMargin: "400px" });
    this.sight.observe(place);
  }

  seen(isNear, onSize) {
    this.isNear = isNear;
    if (isNear && this.isDirty) onSize(this);
  }

  // The figure with everything up to today, and the day at which it is cut.
  show(figure, day, today) {
    this.figure = figure;
    this.today = today;
    this.day = "whole" in this.place.dataset ? today : Math.min(day, today);
    this.isDirty = true;
    const text = figure.layout?.title?.text ?? "";
    setText(this.title, unescaped(text));
    this.csv.href = this.address(".csv", this.place);
    if (!this.numbers.hidden) this.fetchNumbersSoon();
  }

  get isDue() {
    return this.isDirty && this.isNear && Boolean(this.figure);
  }

  get isWhole() {
    return this.day === this.today;
  }

  cutAt(day) {
    return this.figure.data.map((trace) => cutTrace(trace, day, this.first));
  }

  get first() {
    return Number(this.place.dataset.from ?? 0);
  }

  async draw() {
    this.isDirty = false;
    const Plotly = await plotly;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height || this.isGone || !this.figure) return;
    const whole = this.cutAt(this.today);
    if (!this.isWhole && !this.ranges) await this.measure(Plotly, whole, width, height);
    const data = this.isWhole ? whole : this.cutAt(this.day);
    const points = pointsIn({ data });
    this.empty.hidden = points > 0;
    this.canvas.classList.toggle("plot-bare", !points);
    const figure = this.dressed(data, whole, width, height);
    await Plotly.react(this.canvas, figure.data, figure.layout, CONFIG);
    if (this.isWhole) this.ranges = rangesOf(this.canvas);
    if (!this.isBound) this.bind();
    this.isDrawn = true;
    this.place.dataset.points = points;
  }

  // Which axes plotly.js would choose for all days: they stay, whichever day is shown.
  async measure(Plotly, whole, width, height) {
    const figure = this.dressed(whole, whole, width, height);
    await Plotly.react(this.canvas, figure.data, figure.layout, CONFIG);
    this.ranges = rangesOf(this.canvas);
  }

  dressed(data, whole, width, height) {
    const ranges = this.isWhole ? null : this.ranges;
    return dressed({ data, layout: this.figure.layout }, { whole, ranges, width, height, revision: (this.revision += 1) });
  }

  bind() {
    this.isBound = true;
    if (!this.hasDays) return;
    this.canvas.on("plotly_hover", ({ points }) => this.onHover(points[0]?.x));
    this.canvas.on("plotly_unhover", () => this.onHover(null));
  }

  get hasDays() {
    return this.figure?.layout?.meta?.axis === "days";
  }

  // The line that all charts of a tab share, where one of them is pointed at.
  pointAt(day) {
    const full = this.canvas._fullLayout;
    const axis = full?.xaxis;
    this.line.hidden = day === null || day === undefined || !this.hasDays || !axis?.l2p;
    if (this.line.hidden) return;
    const { t, h } = full._size;
    Object.assign(this.line.style, { insetInlineStart: `${axis._offset + axis.l2p(day)}px`, insetBlockStart: `${t}px`, blockSize: `${h}px` });
  }

  // With the title that the page shows above the chart: a picture travels alone.
  async savePicture() {
    const Plotly = await plotly;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const { data: traces, layout } = this.dressed(this.cutAt(this.day), this.cutAt(this.today), width, height);
    const title = { text: this.figure.layout.title?.text, x: 0.02, xanchor: "left", font: { size: 15 } };
    const margin = { ...layout.margin, t: (layout.margin?.t ?? 24) + 36 };
    const filename = `coffeebench-${this.address("", this.place).match(/runs\/\d+/)[0].replace("/", "-")}-${this.name}`;
    const picture = { format: "png", scale: 2, width, height: height + 36, filename };
    await Plotly.downloadImage({ data: traces, layout: { ...layout, title, margin } }, picture);
  }

  toggleNumbers() {
    this.numbers.hidden = !this.numbers.hidden;
    this.button.setAttribute("aria-expanded", String(!this.numbers.hidden));
    if (!this.numbers.hidden) this.fetchNumbers();
  }

  fetchNumbersSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchNumbers(), 400);
  }

  async fetchNumbers() {
    const answer = await fetch(this.address("/table/", this.place), { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok || this.isGone) return;
    this.numbers.innerHTML = await answer.text(); // rendered and escaped by the server
  }

  async leave() {
    this.isGone = true;
    clearTimeout(this.timer);
    this.sizes.disconnect();
    this.sight.disconnect();
    (await plotly).purge(this.canvas);
  }
}

const CONFIG = {
  displaylogo: false,
  modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
};

function rangesOf(canvas) {
  const full = canvas._fullLayout;
  const axes = Object.keys(full).filter((name) => /^[xy]axis\d*$/.test(name));
  return Object.fromEntries(axes.filter((name) => ["linear", "log"].includes(full[name].type)).map((name) => [name, [...full[name].range]]));
}

// Python escapes a title for plotly.js; on the page it is text.
const SIGNS = { lt: "<", gt: ">", amp: "&" };
const unescaped = (text) => text.replace(/&(lt|gt|amp);/g, (_, name) => SIGNS[name]);
