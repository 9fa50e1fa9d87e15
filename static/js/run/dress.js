// A figure in the theme's colours, for the size it has now.

import { outlined } from "./bars.js";
import { withValue } from "./figure_data.js";
import { labelsOf, marginFor, rangeOf } from "./labels.js";
import { writingAround } from "./margins.js";
import { colours, isDark } from "./theme_colours.js";

const NARROW_PX = 560;

// `meta.light` and `meta.dark`: one colour, one for each point, or an object from places in the trace to what is there.
function coloured(trace) {
  const colour = isDark() ? trace.meta?.dark : trace.meta?.light;
  if (!colour) return trace;
  if (Array.isArray(colour)) return withValue(trace, ["marker", "color"], colour);
  if (typeof colour === "object") {
    return Object.entries(colour).reduce((result, [place, value]) => withValue(result, place.split("."), value), trace);
  }
  const places = [["line", trace.line || trace.mode?.includes("lines")], ["marker", trace.marker || trace.type === "bar"]];
  return places.filter(([, is]) => is).reduce((result, [place]) => withValue(result, [place, "color"], colour), trace);
}

// A line of one point is drawn as that point: plotly.js would draw nothing.
const pointed = (trace) => (trace.mode === "lines" && trace.y.filter((amount) => amount !== null).length === 1 ? { ...trace, mode: "lines+markers" } : trace);

const isLabelled = (trace) => trace.mode?.includes("lines") && trace.x?.length && trace.y?.length;

// `whole` are the traces up to now and `data` those that are shown: the axes hold the whole, so that they stand still
// while days pass. `ranges` are those that plotly.js chose for the whole, by axis.
export function dressed({ data, layout }, { whole, ranges, width, height, revision }) {
  const theme = colours();
  const isNarrow = width < NARROW_PX;
  const traces = data.map((trace) => pointed(greyed(coloured(trace), theme)));
  const { margin, tickangle, entrywidth } = writingAround(layout, whole, width);
  const result = {
    ...layout,
    title: undefined,
    width,
    height,
    margin,
    datarevision: revision,
    uirevision: layout.uirevision ?? "same",
    paper_bgcolor: theme.panel,
    plot_bgcolor: theme.panel,
    font: { family: theme.font, color: theme.ink, size: 12, ...layout.font },
    hoverlabel: { bgcolor: theme.panel, bordercolor: theme.line, font: { color: theme.ink }, align: "left", namelength: -1, ...layout.hoverlabel },
    legend: { font: { color: theme.ink }, entrywidth, ...layout.legend },
    shapes: (layout.shapes ?? []).map((shape) => dressedShape(shape, theme)),
    annotations: (layout.annotations ?? []).map((note) => ({ ...note, font: { color: theme.soft, size: 11, ...note.font } })),
  };
  for (const axis of axesOf(layout)) result[axis] = dressedAxis(layout[axis], theme, ranges?.[axis]);
  result.xaxis.tickangle = tickangle;
  if (layout.meta?.axis === "days") result.xaxis.tickformat = "d";
  if (layout.meta?.labels) addLabels(result, traces, whole, { isNarrow, theme });
  return { data: outlined(traces, layout).map((trace) => themed(trace, theme, result.yaxis.range)), layout: result };
}

// What is far beyond all lines does not crush them: it is only named, at the edge where it would be.
const NEAR = 0.75;

function addLabels(result, traces, whole, { isNarrow, theme }) {
  const isFar = farFrom(rangeOf(whole.filter((trace) => isLabelled(trace) && !trace.meta.offScale)));
  const [lines, all] = [traces, whole].map((them) => them.filter((trace) => isLabelled(trace) && !isFar(trace)));
  const range = rangeOf(all);
  const margin = { ...result.margin, r: marginFor(all, isNarrow) };
  const inner = result.height - margin.t - margin.b;
  const isNamedAbove = result.shapes.some((shape) => shape.label);
  Object.assign(result, { margin, annotations: [...result.annotations, ...labelsOf(lines, range, inner, { isNarrow, theme, isNamedAbove }), ...traces.filter(isFar).map(farNote(theme, isNarrow))] });
  result.yaxis = { ...result.yaxis, range };
}

const farFrom = ([, high]) => (trace) => Boolean(trace.meta?.offScale) && high < trace.y[0] * NEAR;

const farNote = (theme, isNarrow) => (trace) => ({
  xref: "paper",
  yref: "paper",
  x: 0,
  y: 1,
  xanchor: "left",
  yanchor: "top",
  yshift: isNarrow ? -14 : 0, // below the name of the festival
  showarrow: false,
  text: `${trace.name} ${Math.round(trace.y[0]).toLocaleString("en-US")} ↑`,
  font: { size: 11, color: theme.soft },
});

const axesOf = (layout) => {
  const named = Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name));
  return [...new Set(["xaxis", "yaxis", ...named])];
};

function dressedAxis(axis = {}, theme, range) {
  const colours = { color: theme.soft, gridcolor: theme.line, zerolinecolor: theme.soft, linecolor: theme.line };
  // plotly.js would measure every number whether it lies within the chart; there is room for all.
  return { ...colours, ticklabeloverflow: "allow", ...axis, ...(range && !axis.range ? { range } : {}) };
}

function dressedShape(shape, theme) {
  const label = shape.label && { ...shape.label, font: { ...shape.label.font, color: theme.soft } };
  const isBand = shape.name === "festival";
  return {
    ...shape,
    ...(isBand ? { fillcolor: theme.band } : { line: { color: theme.soft, width: 1, ...shape.line } }),
    ...(label ? { label } : {}),
  };
}

// A reference line is thin and grey in either theme.
const greyed = (trace, theme) => (trace.meta?.reference ? { ...trace, line: { width: 1, ...trace.line, color: theme.soft } } : trace);

// What plotly.js draws in colours of its own.
function themed(trace, theme, range) {
  if (trace.meta?.offScale && range?.[1] < trace.y[0]) return { ...trace, visible: false };
  if (trace.type === "heatmap") return { ...trace, colorbar: { outlinewidth: 0, tickfont: { color: theme.soft }, ...trace.colorbar } };
  if (trace.type === "sankey") return themedFlow(trace, theme);
  return trace;
}

// plotly.js cannot lay out a flow in which nothing flows.
function themedFlow(trace, theme) {
  const flows = trace.link.value.some((value) => value > 0);
  return { ...trace, visible: flows, textfont: { color: theme.ink, ...trace.textfont } };
}
