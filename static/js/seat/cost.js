// What an action will cost and bring, in words, from what the seat knows: the briefing's numbers, what it was shown, the
// time. Pure: the same arguments give the same line. Nothing here is known to be allowed; the answer says that.

const MINUTES = 30;

// `values`: what stands in the form, as text, by name. `facts`: recipes, known rows by list, cash in USD, the time.
export function costLine(tool, values, facts) {
  if (tool === "wait_for_next_day") return waiting(facts.time);
  const lines = { roast, produce_item: growing, pay_invoice: paying, accept_offer: accepting, make_offer: bidding, post_listing: listing };
  return [`costs ${MINUTES} min${then(facts.time)}`, lines[tool]?.(values, facts)].filter(Boolean).join("; ");
}

function waiting(time) {
  const left = time?.calls_left_today;
  const unused = left ? ` ${left === 1 ? "1 slot" : `${left} slots`} of today ${left === 1 ? "is" : "are"} left unused.` : "";
  return `costs no time. You rest until the next morning, or until something wakes you.${unused}`;
}

function then(time) {
  if (!time) return "";
  return time.calls_left_today > 1 ? ` (then it is ${clock(time.minute + MINUTES)})` : " (the last of today)";
}

function roast(values, { recipes, time }) {
  const recipe = recipes.roasted[values.green_item_id];
  const kg = whole(values.qty_kg);
  if (!recipe || !kg) return `at most ${recipes.roast_cap_kg} kg of green a day, all kinds together`;
  const out = halfEven(kg * recipe.output);
  return `${usd(kg * recipe.cost)} USD of labour; ${out} kg ${item(recipe.gives)} ${landing(recipe.days, time)}`;
}

function growing(values, { recipes, time }) {
  const recipe = recipes.grown[values.item_id];
  const kg = whole(values.quantity);
  if (!recipe) return "";
  if (!kg) return `${usd(recipe.cost)} USD a kg; at most ${recipe.cap_kg} kg of it a day`;
  return `${usd(kg * recipe.cost)} USD to grow it; ${landing(recipe.days, time)}`;
}

function landing(days, time) {
  return time ? `lands Day ${time.day + Math.max(1, days)} 09:00` : "";
}

function paying(values, { known, cash, time }) {
  const invoice = known.payables?.[id(values.invoice_id)];
  if (!invoice) return "";
  const more = time && invoice.due_day < time.day ? " and what late fees have come on top since you looked" : "";
  return `pays ${usd(invoice.owed)} USD${more}${cash === null ? "" : `, of the ${usd(cash)} USD you had`}`;
}

function accepting(values, { known }) {
  const offer = known.offers_in?.[id(values.offer_id)];
  if (!offer) return "the goods leave at once";
  const total = usd(dealt(offer.qty, offer.offered_price));
  return `${offer.qty} kg ${item(offer.item_id)} leave at once for ${total} USD, due ${days(offer.payment_terms_days)} after delivery`;
}

function bidding(values, { known }) {
  const total = dealt(whole(values.qty), price(values.offered_price));
  const asked = known.listings?.[id(values.listing_id)]?.asking_price;
  const beside = asked ? ` (asked: ${usd(asked)} USD/kg)` : "";
  return total ? `${usd(total)} USD in all if it is accepted${beside}; nothing is paid now` : `nothing is paid now${beside}`;
}

function listing(values) {
  const total = dealt(whole(values.qty), price(values.asking_price));
  return total ? `${usd(total)} USD in all if it sells; nothing is reserved` : "nothing is reserved";
}

// Numbers as the rules round them: to the nearest, and from the middle to the even one.

function halfEven(value) {
  const below = Math.floor(value);
  return value - below === 0.5 ? below + (below % 2) : Math.round(value);
}

// What a deal comes to, to the cent; reckoned in whole micro-dollars, as the books hold it.
const dealt = (kg, price) => halfEven((kg * Math.round(price * 1e6)) / 1e4) / 100;

// Numbers as the page writes them.

const whole = (text) => (/^\d{1,9}$/.test(text?.trim().replaceAll(",", "") ?? "") ? Number(text.replaceAll(",", "")) : 0);
const price = (text) => (/^\d*\.?\d+$/.test(text?.trim() ?? "") ? Number(text) : 0);
const id = (text) => (text ?? "").trim().toUpperCase();
const days = (count) => (count === 1 ? "1 day" : `${count} days`);
const item = (name) => (name ?? "").replace(/_kg$/, "").replaceAll("_", " ");
const clock = (minute) => `${String(Math.floor((minute % 1440) / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;

export function usd(amount) {
  return amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).replace("-", "−");
}
