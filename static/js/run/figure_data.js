// What figures hold, without any drawing: cutting them at a day, adding up sums, appending what happened since.
//
// `meta.days` gives the day of each point, and every array of a trace that is as long is cut and extended with it.
// `meta.sums` are increments [day, index, value], added up into the array that `meta.into` names.

const NOT_DATA = new Set(["meta", "colorscale", "domain", "range", "tickvals", "ticktext"]);

const daysOf = (trace) => (trace.meta?.days === "x" ? trace.x : trace.meta?.days);

// What `meta` itself says of single points.
const marksOf = ({ meta }) => Object.fromEntries(["days", "light", "dark"].map((name) => [name, meta[name]]));

// A trace with `change(array)` in place of every array of its points.
function mapped(value, length, change) {
  if (Array.isArray(value)) {
    if (value.length === length) return change(value);
    if (Array.isArray(value[0]) && value.every((row) => row?.length === length)) return value.map(change);
    return value;
  }
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, NOT_DATA.has(name) ? each : mapped(each, length, change)]));
}

// How many of some days in order come up to one; −1 if they are in no order.
function countUpTo(days, day) {
  let count = 0;
  for (let index = 0; index < days.length; index += 1) {
    if (index && days[index] < days[index - 1]) return -1;
    if (days[index] <= day) count = index + 1;
  }
  return count;
}

// The trace as it stood in the evening of a day; sums begin on the day `first`.
export function cutTrace(trace, day, first = 0) {
  const days = daysOf(trace);
  if (trace.meta?.whole) return trace;
  if (days) {
    if (!days.length || day === Infinity) return trace;
    const count = countUpTo(days, day);
    if (count === days.length) return trace;
    const cut = (array) => (count < 0 ? array.filter((_, index) => days[index] <= day) : array.slice(0, count));
    return { ...mapped(trace, days.length, cut), meta: { ...trace.meta, ...mapped(marksOf(trace), days.length, cut) } };
  }
  return trace.meta?.sums ? summed(trace, first, day) : trace;
}

function summed(trace, first, last) {
  const { sums, into, columns } = trace.meta;
  const path = into.split(".");
  const array = structuredClone(path.reduce((value, name) => value?.[name], trace) ?? []);
  const zero = (values) => values.map((value) => (Array.isArray(value) ? zero(value) : 0));
  const totals = zero(array);
  for (const [day, index, value] of sums) {
    if (day < first || day > last) continue;
    if (into === "z") totals[Math.floor(index / columns)][index % columns] += value;
    else totals[index] = (totals[index] ?? 0) + value;
  }
  return withValue(trace, path, totals);
}

// A copy of an object with another value at a place within it.
export function withValue(object, [name, ...rest], value) {
  return { ...object, [name]: rest.length ? withValue(object?.[name], rest, value) : value };
}

// Figures with those of the days after one put in place of what they had of those days.
export function appended(figures, news, after) {
  const result = { ...figures };
  for (const [name, figure] of Object.entries(news)) {
    result[name] = name in figures ? appendedFigure(figures[name], figure, after) : figure;
  }
  return result;
}

function appendedFigure(figure, news, after) {
  const known = new Map(figure.data.map((trace) => [keyOf(trace), trace]));
  const data = news.data.map((trace) => appendedTrace(known.get(keyOf(trace)), trace, after));
  const told = new Set(news.data.map(keyOf));
  return { ...news, data: [...data, ...figure.data.filter((trace) => !told.has(keyOf(trace)))] };
}

const keyOf = (trace) => trace.meta?.key ?? trace.name ?? "";

function appendedTrace(old, news, after) {
  if (!old) return news;
  if (news.meta?.sums) {
    const sums = [...old.meta.sums.filter(([day]) => day <= after), ...news.meta.sums];
    return { ...news, meta: { ...news.meta, sums } };
  }
  if (!daysOf(news) || news.meta.whole) return news;
  return joined(cutTrace(old, after), news);
}

function joined(old, news) {
  const [before, now] = [daysOf(old).length, daysOf(news).length];
  const join = (a, b) => {
    if (Array.isArray(b)) return Array.isArray(a) && a.length === before && b.length === now ? [...a, ...b] : b;
    if (!b || typeof b !== "object") return b;
    return Object.fromEntries(Object.entries(b).map(([name, each]) => [name, NOT_DATA.has(name) ? each : join(a?.[name], each)]));
  };
  return { ...join(old, news), meta: { ...news.meta, ...join(marksOf(old), marksOf(news)) } };
}

// How many points or sums a figure shows up to a day: nothing says that a place is empty.
export function pointsIn(figure) {
  return figure.data.reduce((count, trace) => count + (trace.meta?.reference ? 0 : pointsOf(trace)), 0);
}

function pointsOf(trace) {
  if (trace.type === "sankey") return trace.link.value.filter((value) => value > 0).length;
  if (trace.meta?.sums) return trace.meta.sums.length;
  const longest = [trace.x, trace.y, trace.z, trace.link?.value].map((array) => array?.length ?? 0);
  return Math.max(...longest);
}
