// What a chart needs pixels for: the range of its money axis, and where the names fit beside the line ends.

import { asText } from "./theme_colours.js";

const LABEL_PX = 15;
const NAMED_ABOVE_PX = 25; // the first label's place below the name of the festival, which stands at the top
const LETTER_PX = 6.4;
const STEPS = [1, 2, 2.5, 5, 10];

const ends = (lines) => lines.filter((line) => line.x.length);

// Round numbers around all amounts and zero, with a little air; it widens in steps and not with every day.
export function rangeOf(lines) {
  let [low, high] = [0, 0];
  for (const line of lines) {
    for (const amount of line.y) {
      low = Math.min(low, amount);
      high = Math.max(high, amount);
    }
  }
  if (low === high) return [0, 10];
  const step = roundUp((high - low) / 20);
  const air = (high - low) * 0.03;
  return [low < 0 ? Math.floor((low - air) / step) * step : 0, high > 0 ? Math.ceil((high + air) / step) * step : 0];
}

function roundUp(amount) {
  const power = 10 ** Math.floor(Math.log10(amount));
  return STEPS.find((step) => step * power >= amount) * power;
}

// A name and amount beside the end of each line, pushed apart where they would lie on each other.
export function labelsOf(lines, [low, high], height, { isNarrow, theme, isNamedAbove }) {
  const perPixel = (high - low) / Math.max(height, 1);
  const labels = ends(lines).map((line) => ({ line, x: line.x.at(-1), at: (high - line.y.at(-1)) / perPixel }));
  labels.sort((a, b) => a.at - b.at);
  return apart(labels, height, isNamedAbove ? NAMED_ABOVE_PX : 0).map(({ line, x, at, to }) => ({
    x,
    y: line.y.at(-1),
    xanchor: "left",
    yanchor: "middle",
    xshift: 6,
    yshift: at - to,
    showarrow: false,
    align: "left",
    text: labelText(line, isNarrow),
    font: { size: 11.5, color: line.meta.reference ? theme.soft : asText(line.line.color, theme.ink), weight: line.meta.evaluated ? 700 : 500 },
    bgcolor: theme.panel,
    borderpad: 0,
  }));
}

const nameOf = (line) => line.meta.label ?? line.name;
const labelText = (line, isNarrow) => (isNarrow ? nameOf(line) : `${nameOf(line)} ${amountText(line.y.at(-1) ?? 0)}`);

// Room for the longest label to the right of the last day; in steps, so that the axis does not twitch.
export function marginFor(lines, isNarrow) {
  const most = Math.max(0, ...lines.map((line) => labelText(line, isNarrow).length));
  return Math.ceil((most * LETTER_PX + 12) / 16) * 16;
}

// Labels from top to bottom in pixels: each at least a line below the one before, all within the chart, none above `top`
// while there is room.
function apart(labels, height, top) {
  let free = top;
  for (const label of labels) {
    label.to = Math.max(label.at, free);
    free = label.to + LABEL_PX;
  }
  let most = height - LABEL_PX / 2;
  for (const label of labels.toReversed()) {
    label.to = Math.min(label.to, most);
    most = label.to - LABEL_PX;
  }
  return labels;
}

function amountText(amount) {
  return Math.round(amount).toLocaleString("en-US").replace("-", "−").replace(/^−0$/, "0");
}
