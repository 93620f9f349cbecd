"use strict";
// What the page does with its tables and texts. All data is in the element #data; texts of the
// corpus are only ever set as textContent, or come as HTML that the report's templates escaped.

const $ = (id) => document.getElementById(id);
// Without characters that change the reading direction of what stands beside it.
const DIRECTING = /[\u202a-\u202e\u2066-\u2069]/g;
const harmless = (text) => String(text).replace(DIRECTING, "\ufffd");
const quoted = (name) => JSON.stringify(name).replace(DIRECTING, (one) => `\\u${one.codePointAt(0).toString(16)}`);
const make = (tag, text, name) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = harmless(text);
  if (name) made.className = name;
  return made;
};
const collator = new Intl.Collator(undefined, { numeric: true });
const shown = (value, digits = 3) => (Number.isNaN(value) ? "–" : String(Number(value.toPrecision(digits))));

// ---- tables: sorted by a click on a head, filtered by words

function numberIn(cell) {
  const found = cell.textContent.replace(/,(?=\d{3})/g, "").match(/-?\d+(\.\d+)?(e[+-]?\d+)?/i);
  return found && cell.classList.contains("number") ? Number(found[0]) : null;
}

function sortRows(table, column, ascending) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => {
    const cell = row.cells[column];
    return { row, number: numberIn(cell), text: cell.textContent.trim() };
  });
  keyed.sort((a, b) => {
    if (a.number === null && b.number === null) return collator.compare(a.text, b.text);
    if (a.number === null || b.number === null) return (a.number === null) - (b.number === null) || 0;
    return a.number - b.number;
  });
  const known = keyed.filter((one) => one.number !== null);
  const ordered = ascending ? keyed : known.length
    ? [...known.reverse(), ...keyed.filter((one) => one.number === null)] : keyed.reverse();
  body.append(...ordered.map((one) => one.row));
}

function makeSortable(table) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make("button", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort")
        ? head.getAttribute("aria-sort") !== "ascending" : !head.classList.contains("number");
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sortRows(table, column, ascending);
    });
  });
  if (body.rows.length > 8 && !table.closest("dialog")) {
    const input = make("input", undefined, "filter");
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", `Filter rows: ${table.caption ? table.caption.textContent.trim() : ""}`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.parentElement.before(input);
  }
}

document.querySelectorAll("main table:not(.list)").forEach(makeSortable);

// ---- sections of tables, which are folded

const folded = () => document.querySelectorAll("main > section > details");

function unfold() {
  const target = location.hash.length > 1 && !location.hash.includes("?") && $(location.hash.slice(1));
  const within = target && (target.closest("details") || target.querySelector("details"));
  if (within) within.open = true;
}

if ($("unfold")) $("unfold").addEventListener("click", () => folded().forEach((one) => { one.open = true; }));
addEventListener("beforeprint", () => folded().forEach((one) => { one.open = true; }));
addEventListener("hashchange", unfold);
unfold();

// ---- where the texts come from: the page itself, or `evaljudge view`

const data = JSON.parse($("data").textContent);

function fill(select, options) {
  const kept = select.value;
  select.replaceChildren(...options.map(([value, text]) => {
    const option = make("option", text);
    option.value = value;
    return option;
  }));
  if (options.some(([value]) => String(value) === kept)) select.value = kept;
}

const nameOf = (scale) => (scale.axis === "*" ? scale.scorer : `${scale.scorer} · ${scale.axis}`);
const NUMBERS = { score: Float32Array, rating: Float32Array, doubt: Float32Array, other: Float32Array,
  reason: Int16Array, system: Int16Array, selected: Uint8Array, flipped: Uint8Array };

// Texts that the page holds itself.
const embedded = {
  columns: new Map(),
  async names() { return data.texts.doc; },
  async column(name) {
    if (!this.columns.has(name)) {
      const [kind, number] = name.split(":");
      const given = number === undefined ? data.texts[kind] : (data.texts[kind] || [])[number];
      const made = given ? NUMBERS[kind].from(given, (value) => (value === null ? NaN : value)) : null;
      this.columns.set(name, made);
    }
    return this.columns.get(name);
  },
  async begins(rows) { return rows.map((row) => data.texts.begins[row]); },
  async body(row) { return $(`text-${row}`).content.cloneNode(true); },
  async search(words) {
    this.words ??= data.texts.doc.map((doc, row) => `${doc} ${data.systems[data.texts.system[row]]} ${$(`text-${row}`).content.querySelector(".plain-text").textContent}`.toLowerCase());
    const found = new Uint8Array(this.words.length);
    this.words.forEach((text, row) => { found[row] = words.every((word) => text.includes(word)); });
    return found;
  },
};

// Texts of a whole run, asked of the server that gave this page.
const served = {
  columns: new Map(),
  async get(path, given = {}) {
    const answer = await fetch(`${path}?${new URLSearchParams({ ...given, token: data.token })}`);
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  },
  async names() { return (await this.get("names")).json(); },
  async column(name) {
    if (!this.columns.has(name)) {
      this.columns.set(name, this.get("column", { name })
        .then((answer) => answer.arrayBuffer())
        .then((bytes) => new NUMBERS[name.split(":")[0]](bytes)));
    }
    return this.columns.get(name);
  },
  async begins(rows) { return rows.length ? (await this.get("begins", { rows })).json() : []; },
  async body(row) {
    const html = await (await this.get("text", { row })).text();
    const made = make("template");
    made.innerHTML = html;
    return made.content;
  },
  async search(words) {
    return new Uint8Array(await (await this.get("search", { words: words.join(" ") })).arrayBuffer());
  },
};

const source = data.token ? served : embedded;

// ---- the list of texts

const PAGE = 50;
const list = { order: [], extent: 0, found: null, names: [], systems: null, ranked: new Map() };

// Each value's place among all values, between 0 and 1; equal values share theirs.
function ranks(values) {
  const known = Uint32Array.from(values.keys()).filter((row) => !Number.isNaN(values[row]));
  known.sort((a, b) => values[a] - values[b]);
  const made = new Float32Array(values.length).fill(NaN);
  for (let from = 0; from < known.length;) {
    let to = from;
    while (to < known.length && values[known[to]] === values[known[from]]) to += 1;
    for (let at = from; at < to; at += 1) made[known[at]] = (from + to - 1) / 2 / Math.max(known.length - 1, 1);
    from = to;
  }
  return made;
}

function disagreement(scorer, scores, ratings) {
  if (!list.ranked.has(scorer)) {
    const rated = scores.map((score, row) => (Number.isNaN(ratings[row]) ? NaN : score));
    const people = ratings.map((rating, row) => (Number.isNaN(scores[row]) ? NaN : rating));
    const [a, b] = [ranks(rated), ranks(people)];
    list.ranked.set(scorer, a.map((place, row) => Math.abs(place - b[row])));
  }
  return list.ranked.get(scorer);
}

function ratingColumn(scorer) {
  const at = data.human.indexOf(data.scorers[scorer].axis);
  return at < 0 ? null : source.column(`rating:${at}`);
}

async function chosen() {
  const given = (id) => $(id).value;
  const scorer = Number(given("by-scorer"));
  const [scores, reasons, ratings, doubts] = await Promise.all([source.column(`score:${scorer}`),
    source.column(`reason:${scorer}`), ratingColumn(scorer), source.column(`doubt:${scorer}`)]);
  const tests = [];
  if (list.found) tests.push((row) => list.found[row]);
  if (given("by-system")) {
    const system = Number(given("by-system"));
    tests.push((row) => list.systems[row] === system);
  }
  if (given("by-low") !== "") tests.push((row) => scores[row] >= Number(given("by-low")));
  if (given("by-high") !== "") tests.push((row) => scores[row] <= Number(given("by-high")));
  const status = given("by-status");
  if (status === "scored") tests.push((row) => !Number.isNaN(scores[row]));
  if (status === "unscored") tests.push((row) => reasons[row] >= 0);
  if (status.startsWith("reason:")) tests.push((row) => reasons[row] === Number(status.slice(7)));
  const rated = given("by-rated");
  if (rated) tests.push((row) => (Boolean(ratings) && !Number.isNaN(ratings[row])) === (rated === "yes"));
  const rule = given("by-selected");
  if (rule) {
    const [sign, number] = [rule[0], rule.slice(1)];
    const column = await source.column(`${sign === "~" ? "flipped" : "selected"}:${number}`);
    tests.push((row) => Boolean(column[row]) === (sign !== "-"));
  }
  const rows = [];
  for (let row = 0; row < list.names.length; row += 1) if (tests.every((test) => test(row))) rows.push(row);
  Object.assign(list, { scorer, scores, reasons, ratings, doubts });
  return rows;
}

async function sorted(rows) {
  const { scores, ratings, doubts, scorer } = list;
  const negated = (values) => values && values.map((value) => -value);
  const others = data.other ? await source.column(`other:${scorer}`) : null;
  const keys = {
    low: () => scores,
    high: () => negated(scores),
    doubt: () => negated(doubts),
    disagreement: () => ratings && negated(disagreement(scorer, scores, ratings)),
    threshold: () => scores.map((score) => Math.abs(score - threshold.value)),
    difference: () => others && scores.map((score, row) => -Math.abs(score - others[row])),
  }[$("sort").value];
  const values = keys ? keys() : null;
  if (!values) return rows;
  const known = rows.filter((row) => !Number.isNaN(values[row]));
  const rest = rows.filter((row) => Number.isNaN(values[row]));
  return [...known.sort((a, b) => values[a] - values[b] || a - b), ...rest];
}

let asked = 0;

async function refresh() {
  asked += 1;
  const mine = asked;
  $("list").setAttribute("aria-busy", "true");
  const rows = await sorted(await chosen());
  if (mine !== asked) return;
  list.order = rows;
  await showRows(0);
}

// The next rows of the list, from this place; from 0: in place of those that are shown.
async function showRows(from) {
  const mine = asked;
  const body = $("list").tBodies[0];
  const rows = list.order.slice(from, from + PAGE);
  $("list").setAttribute("aria-busy", "true");
  const begins = await source.begins(rows);
  const others = data.other ? await source.column(`other:${list.scorer}`) : null;
  if (mine !== asked) return;
  if (!from) body.replaceChildren();
  body.append(...rows.map((row, at) => line(row, begins[at], others)));
  list.extent = from + rows.length;
  const total = list.names.length;
  const of = data.candidates > total ? `. The run has ${data.candidates.toLocaleString("en")}: \`evaljudge view\` shows them all` : "";
  $("count").textContent = `${list.order.length.toLocaleString("en")} of ${total.toLocaleString("en")} texts${of}.`;
  $("more").hidden = list.order.length <= list.extent;
  $("list").setAttribute("aria-busy", "false");
}

const systemOf = (row) => data.systems[list.systems[row]];

function line(row, begins, others) {
  const link = make("a", list.names[row]);
  link.href = linkTo(row);
  const head = make("th");
  head.scope = "row";
  head.append(link);
  const reason = list.reasons ? list.reasons[row] : -1;
  const cells = [
    [systemOf(row)],
    [reason >= 0 ? "unscored" : shown(list.scores[row]), "number", reason >= 0 ? data.reasons[reason] : ""],
    ...(others ? [[shown(others[row]), "number"]] : []),
    [shown(list.ratings ? list.ratings[row] : NaN), "number"],
    [shown(list.doubts ? list.doubts[row] : NaN, 2), "number"],
    [`${begins}…`],
  ].map(([text, name, title]) => {
    const cell = make("td", text, name);
    if (title) cell.title = title;
    return cell;
  });
  const made = make("tr");
  made.append(head, ...cells);
  made.addEventListener("click", (event) => { if (!event.target.closest("a")) location.hash = link.hash; });
  return made;
}

// The list as a link asks for it: #texts?scorer=…&axis=…&system=…&sort=low
async function openList() {
  if (!location.hash.startsWith("#texts?")) return;
  const given = new URLSearchParams(location.hash.slice(7));
  const scale = data.scorers.findIndex((one) => one.scorer === given.get("scorer") && one.axis === given.get("axis"));
  const system = data.systems.indexOf(given.get("system"));
  document.querySelectorAll("#texts .controls input, #texts .controls select").forEach((one) => { one.value = ""; });
  $("by-scorer").value = Math.max(scale, 0);
  $("by-system").value = system < 0 ? "" : system;
  $("sort").value = given.get("sort") || "";
  list.found = null;
  await refresh();
  $("texts").scrollIntoView();
}

// ---- one text, opened by its link

function linkTo(row) {
  return `#text?${new URLSearchParams({ doc: list.names[row], system: systemOf(row) })}`;
}

function opened() {
  if (!location.hash.startsWith("#text?")) return null;
  const given = new URLSearchParams(location.hash.slice(6));
  const system = data.systems.indexOf(given.get("system"));
  const doc = given.get("doc");
  return list.names.findIndex((name, row) => name === doc && list.systems[row] === system);
}

async function openText() {
  const row = opened();
  const dialog = $("text");
  if (row === null) { if (dialog.open) dialog.close(); return; }
  const body = row < 0 ? [] : [await source.body(row)];
  if (opened() !== row) return;  // another text has been asked for meanwhile
  $("text-body").replaceChildren(...body);
  $("text-name").textContent = row < 0 ? "This text is not on the page: `evaljudge view` shows all texts of the run."
    : harmless(`${list.names[row]} · ${systemOf(row)}`);
  $("text-body").querySelectorAll("table").forEach(makeSortable);
  const first = $("text-body").querySelector(".judged");
  const axis = data.scorers[list.scorer].axis;
  if (first) first.before(...[...$("text-body").querySelectorAll(".judged")].filter((one) => one.dataset.axis === axis));
  const at = list.order.indexOf(row);
  for (const [id, other] of [["previous", at - 1], ["next", at + 1]]) {
    const target = at < 0 ? undefined : list.order[other];
    $(id).disabled = target === undefined;
    $(id).dataset.to = target === undefined ? "" : linkTo(target);
  }
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

// ---- a threshold that can be moved

const later = (wait, work) => {
  let waiting;
  return () => { clearTimeout(waiting); waiting = setTimeout(work, wait); };
};
const AT_THE_BORDER = 5;

// Found without a sort of all rows.
function nearestTo(value, scores) {
  const apart = (row) => Math.abs(scores[row] - value);
  const found = [];
  for (let row = 0; row < scores.length; row += 1) {
    if (found.length < AT_THE_BORDER ? !Number.isNaN(scores[row]) : apart(row) < apart(found.at(-1))) {
      found.splice(AT_THE_BORDER - 1, 1);
      found.push(row);
      found.sort((a, b) => apart(a) - apart(b));
    }
  }
  return found;
}

const threshold = {
  value: 0,
  get spread() { return data.spreads[Number($("threshold-scorer").value)]; },

  choose() {
    const people = this.spread.people;
    fill($("threshold-axis"), people.map((one, at) => [at, `rated on ${one.axis}`]));
    $("threshold-people").hidden = !people.length;
    $("threshold-at").value = Math.round(data.bins * 0.8);
    this.chooseGood();
  },

  chooseGood() {
    const met = this.spread.people[Number($("threshold-axis").value)];
    if (met) {
      fill($("threshold-good"), met.ratings.map((rating, at) => [at, `at least ${shown(rating)}`]));
      $("threshold-good").value = Math.floor(met.ratings.length / 2);
    }
    this.move();
  },

  move() {
    const one = this.spread;
    const bin = Number($("threshold-at").value);
    this.value = one.low + bin * ((one.high - one.low) / data.bins);
    const all = one.counts.reduce((sum, n) => sum + n, 0);
    const selected = one.counts.slice(bin).reduce((sum, n) => sum + n, 0);
    const share = (part, whole) => (whole ? `${(100 * part / whole).toFixed(1)}%` : "–");
    $("threshold-value").textContent = shown(this.value, 4);
    $("threshold-at").setAttribute("aria-valuetext", shown(this.value, 4));
    $("threshold-selected").textContent = `${selected.toLocaleString("en")} of ${all.toLocaleString("en")} scored texts (${share(selected, all)})`;
    const met = one.people[Number($("threshold-axis").value)];
    if (met) {
      const good = Number($("threshold-good").value);
      const sum = (keep) => met.counts.filter(keep).reduce((total, [, , n]) => total + n, 0);
      const hits = sum(([b, r]) => b >= bin && r >= good);
      const chosen = sum(([b]) => b >= bin);
      const goods = sum(([, r]) => r >= good);
      $("threshold-precision").textContent = `${share(hits, chosen)} of the ${chosen.toLocaleString("en")} rated texts selected are good (precision)`;
      $("threshold-recall").textContent = `${share(hits, goods)} of the ${goods.toLocaleString("en")} good texts are selected (recall)`;
    }
    // Rounded down, so that what is printed selects no text fewer.
    const digits = 6;
    const printed = Number(this.value.toPrecision(digits)) <= this.value ? this.value.toPrecision(digits)
      : String(this.value);
    $("threshold-line").textContent = `- {name: chosen, all: [{scorer: ${quoted(one.scorer)}, axis: ${quoted(one.axis)}, at_least: ${printed}}]}`;
    $("threshold-copy").textContent = "Copy";
    if (list.systems) this.borderline();
  },

  // Once the slider rests.
  borderline: later(100, async () => {
    const { value, spread } = threshold;
    if ($("sort").value === "threshold") refresh();
    const at = data.scorers.findIndex((scale) => scale.scorer === spread.scorer && scale.axis === spread.axis);
    const scores = await source.column(`score:${at}`);
    const nearest = nearestTo(value, scores);
    const begins = await source.begins(nearest);
    if (value !== threshold.value) return;  // the slider has moved on
    $("borderline").replaceChildren(...nearest.map((row, place) => {
      const link = make("a", `${list.names[row]} · ${systemOf(row)}`);
      link.href = linkTo(row);
      const item = make("li", `${shown(scores[row], 4)} `);
      item.append(link, ` ${begins[place]}…`);
      return item;
    }));
  }),
};

// ---- what is put together at the start

function beginThreshold() {
  fill($("threshold-scorer"), data.spreads.map((one, at) => [at, nameOf(one)]));
  $("threshold-at").max = data.bins - 1;
  $("threshold-scorer").addEventListener("change", () => threshold.choose());
  $("threshold-axis").addEventListener("change", () => threshold.chooseGood());
  $("threshold-good").addEventListener("change", () => threshold.move());
  $("threshold-at").addEventListener("input", () => threshold.move());
  $("threshold-copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText($("threshold-line").textContent);
    $("threshold-copy").textContent = "Copied";
  });
  threshold.choose();
}

async function beginTexts() {
  [list.names, list.systems] = await Promise.all([source.names(), source.column("system")]);
  fill($("by-scorer"), data.scorers.map((scale, at) => [at, nameOf(scale)]));
  fill($("by-system"), [["", "all"], ...data.systems.map((name, at) => [at, name])]);
  fill($("by-status"), [["", "all"], ["scored", "scored"], ["unscored", "unscored"],
    ...data.reasons.map((reason, at) => [`reason:${at}`, `unscored: ${reason}`])]);
  fill($("by-selected"), [["", "all"], ...data.selections.flatMap((name, at) => [
    [`+${at}`, `selected by ${name}`], [`-${at}`, `not selected by ${name}`],
    ...((data.shared || []).includes(name) ? [[`~${at}`, `${name}: only one of the two runs selects it`]] : [])])]);
  for (const id of ["by-system", "by-scorer", "by-low", "by-high", "by-status", "by-rated", "by-selected", "sort"]) {
    $(id).addEventListener("input", refresh);
  }
  $("search").addEventListener("input", later(150, async () => {
    const given = $("search").value;
    const words = given.toLowerCase().split(/\s+/).filter(Boolean);
    $("list").setAttribute("aria-busy", "true");
    const found = words.length ? await source.search(words) : null;
    if ($("search").value !== given) return;  // a later search is on its way
    list.found = found;
    await refresh();
  }));
  $("more").addEventListener("click", async () => {
    if ($("list").getAttribute("aria-busy") === "true") return;
    const before = list.extent;
    await showRows(before);
    $("list").tBodies[0].rows[before].querySelector("a").focus();
  });
  for (const id of ["previous", "next"]) {
    $(id).addEventListener("click", () => location.replace($(id).dataset.to));
  }
  $("close").addEventListener("click", () => $("text").close());
  $("text").addEventListener("close", () => {
    if (opened() !== null) history.replaceState(null, "", "#texts");
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea")) return;
    const id = { ArrowLeft: "previous", k: "previous", ArrowRight: "next", j: "next" }[event.key];
    if (id && !$(id).disabled) $(id).click();
  });
  window.addEventListener("hashchange", () => { openText(); openList(); });
  document.querySelectorAll('a[href^="#texts?"]').forEach((one) => one.addEventListener("click", () => {
    if (location.hash === one.hash) openList();
  }));
  await refresh();
  await openText();
  await openList();
  if (data.spreads.length) threshold.move();
}

// What a server that has ended, or a damaged file of the run, leaves undone is said above the list.
addEventListener("unhandledrejection", (event) => {
  $("count").textContent = event.reason instanceof TypeError && data.token
    ? "The server does not answer: start `evaljudge view` again, and open its new link."
    : String(event.reason.message);
});

if (data.spreads.length) beginThreshold();
if (data.scorers) beginTexts();
