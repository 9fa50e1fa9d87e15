// The chart: Python's figures, extended as days end, drawn by plotly.js at most three times a second.

import { labelsOf, marginFor, rangeOf } from "./labels.js";
import { colours, isDark } from "./theme_colours.js";

const REDRAW_MS = 350;
const NARROW_PX = 560;

const plotly = new Promise((resolve) => {
  if (window.Plotly) resolve(window.Plotly);
  else document.getElementById("plotly").addEventListener("load", () => resolve(window.Plotly));
});

export class Chart {
  constructor(figures, run) {
    this.figures = figures;
    this.run = run;
    this.measure = "net_income";
    this.element = document.getElementById("plot");
    this.empty = document.getElementById("plot-empty");
    this.drawnAt = -Infinity;
    this.revision = 0;
    for (const button of document.querySelectorAll("[data-measure]")) {
      button.addEventListener("click", () => this.choose(button));
    }
    document.addEventListener("themechange", () => this.redraw());
    document.addEventListener("visibilitychange", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.table = document.getElementById("days");
    this.table.addEventListener("toggle", () => this.fetchTable());
    this.redraw();
  }

  lineOf(measure, firm) {
    return this.figures[measure].data.find((line) => line.meta.firm === firm);
  }

  amountsOf(firm) {
    return this.lineOf("net_income", firm)?.y ?? [];
  }

  // An evening that is drawn already, from the snapshot, is the same evening: its point is replaced.
  add(evenings) {
    for (const { day, firms } of evenings) {
      for (const [firm, { points }] of Object.entries(firms)) {
        for (const [measure, amount] of Object.entries(points)) this.setPoint(this.lineOf(measure, firm), day, amount);
      }
    }
    if (evenings.length) this.redraw();
  }

  setPoint(line, day, amount) {
    if (!line) return;
    const at = line.x.lastIndexOf(day);
    if (at >= 0) line.y[at] = amount;
    else if (!line.x.length || day > line.x.at(-1)) {
      line.x.push(day);
      line.y.push(amount);
    }
  }

  choose(chosen) {
    for (const button of document.querySelectorAll("[data-measure]")) {
      button.setAttribute("aria-pressed", String(button === chosen));
    }
    this.measure = chosen.dataset.measure;
    document.getElementById("chart-title").textContent = chosen.dataset.title;
    this.redraw();
    this.fetchTable();
  }

  fetchTable() {
    if (!this.table.open) return;
    const target = document.getElementById("days-table");
    const address = target.dataset.address.replace(/measure\/$/, `${this.measure}/`);
    window.htmx.ajax("GET", address, { target, swap: "innerHTML" });
  }

  redraw() {
    if (this.due || document.hidden) return;
    this.due = true;
    setTimeout(() => requestAnimationFrame(() => this.draw()), Math.max(0, this.drawnAt + REDRAW_MS - performance.now()));
  }

  async draw() {
    const Plotly = await plotly;
    this.due = false;
    this.drawnAt = performance.now();
    const figure = this.dressed(this.figures[this.measure]);
    this.empty.hidden = figure.data.some((line) => line.x.length);
    await Plotly.react(this.element, figure.data, figure.layout, this.config(Plotly));
    this.element.dataset.points = figure.data.reduce((sum, line) => sum + line.x.length, 0);
  }

  // The figure in the theme's colours, with its labels at the line ends, for the size it has now.
  dressed({ data, layout }) {
    const theme = colours();
    const { clientWidth: width, clientHeight: height } = this.element;
    const isNarrow = width < NARROW_PX;
    const lines = data.map((line) => ({ ...line, line: { ...line.line, color: isDark() ? line.meta.dark : line.meta.light } }));
    const range = rangeOf(lines);
    const margin = { ...layout.margin, r: marginFor(lines, isNarrow) };
    const axis = { color: theme.soft, gridcolor: theme.line, zerolinecolor: theme.soft, linecolor: theme.line };
    return {
      data: lines,
      layout: {
        ...layout,
        title: undefined,
        width,
        height,
        margin,
        datarevision: (this.revision += 1),
        uirevision: this.measure,
        paper_bgcolor: theme.panel,
        plot_bgcolor: theme.panel,
        font: { family: theme.font, color: theme.ink, size: 12 },
        hoverlabel: { bgcolor: theme.panel, bordercolor: theme.line, font: { color: theme.ink } },
        xaxis: { ...layout.xaxis, ...axis, tickformat: "d" },
        yaxis: { ...layout.yaxis, ...axis, range },
        shapes: layout.shapes.map((shape) => ({
          ...shape,
          fillcolor: theme.band,
          label: { ...shape.label, font: { ...shape.label.font, color: theme.soft } },
        })),
        annotations: labelsOf(lines, range, height - margin.t - margin.b, { isNarrow, theme }),
      },
    };
  }

  config(Plotly) {
    return {
      displaylogo: false,
      modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"], [this.pictureButton(Plotly)]],
    };
  }

  // With the title that the page shows above the chart: a picture travels alone.
  pictureButton(Plotly) {
    return {
      name: "picture",
      title: "Save as PNG",
      icon: Plotly.Icons.camera,
      click: () => {
        const { data, layout } = this.dressed(this.figures[this.measure]);
        const title = { text: this.figures[this.measure].layout.title.text, x: 0.02, xanchor: "left" };
        const figure = { data, layout: { ...layout, title, margin: { ...layout.margin, t: 48 } } };
        const filename = `coffeebench-run-${this.run}-${this.measure}`;
        Plotly.downloadImage(figure, { format: "png", scale: 2, width: layout.width, height: layout.height + 36, filename });
      },
    };
  }
}
