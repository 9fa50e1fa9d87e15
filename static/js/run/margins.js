// How much room the writing around a chart takes. plotly.js could find out by itself, but draws everything twice then.

const LETTER_PX = 6.8;
const LINE_PX = 16;
const TITLE_PX = 26; // of an axis
const TICK_PX = 8;
const SLANTED_PX = 36; // a column as wide has room for a name on the slant
const LEGEND = { itemPx: 45, linePx: 19 };

const longest = (texts) => Math.max(0, ...texts.map((text) => String(text).length));
const axesIn = (layout, letter) => Object.keys(layout).filter((name) => name.startsWith(`${letter}axis`)).map((name) => layout[name]);
const titleRoom = (axes) => (axes.some((axis) => axis.title?.text) ? TITLE_PX : 0);

// The margins, how names stand below columns, and how wide the names of a legend may be; `traces` are those of all days.
export function writingAround(layout, traces, width) {
  const matrix = traces.find(({ type }) => type === "heatmap");
  const base = layout.margin;
  const left = Math.ceil(Math.max(base.l, namesAtLeft(layout, traces, matrix)));
  const inner = width - left - base.r;
  const below = matrix ? namesBelow(layout, matrix.x, inner / matrix.x.length) : { angle: 0, room: 0 };
  const legend = layout.showlegend ? legendOver(traces, inner) : { room: 0 };
  const margin = { ...base, l: left, b: Math.ceil(Math.max(base.b, below.room)), t: Math.max(base.t, legend.room), autoexpand: false };
  return { margin, tickangle: below.angle, entrywidth: legend.entrywidth };
}

function namesAtLeft(layout, traces, matrix) {
  const axes = axesIn(layout, "y").filter((axis) => axis.visible !== false);
  if (!axes.length) return 0;
  const named = axes.flatMap((axis) => axis.ticktext ?? []);
  const names = matrix?.y ?? (named.length ? named : [amountText(highest(traces))]);
  return longest(names) * LETTER_PX + TICK_PX + titleRoom(axes);
}

// At most what bars on top of each other come to.
function highest(traces) {
  const most = ({ y = [] }) => y.reduce((high, amount) => Math.max(high, Math.abs(amount)), 0);
  const [bars, others] = [traces.filter(({ type }) => type === "bar"), traces.filter(({ type }) => type !== "bar")];
  return Math.max(bars.reduce((sum, trace) => sum + most(trace), 0), ...others.map(most));
}

const amountText = (amount) => `−${Math.round(amount).toLocaleString("en-US")}`;

function namesBelow(layout, names, columnPx) {
  const namePx = longest(names) * LETTER_PX;
  const angle = namePx <= columnPx ? 0 : columnPx >= SLANTED_PX ? -30 : -90;
  const height = angle ? namePx * Math.sin((-angle * Math.PI) / 180) + LINE_PX / 2 : 0;
  return { angle, room: TICK_PX + LINE_PX + height + titleRoom(axesIn(layout, "x")) };
}

function legendOver(traces, inner) {
  const entrywidth = Math.ceil(longest(traces.map(({ name }) => name)) * LETTER_PX);
  const columns = Math.max(1, Math.floor(inner / (entrywidth + LEGEND.itemPx)));
  return { entrywidth, room: LINE_PX / 2 + LEGEND.linePx * Math.ceil(traces.length / columns) };
}
