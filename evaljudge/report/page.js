"use strict";
// What the page does with its tables and texts. All data is in the element #data; texts of the
// corpus are only ever set as textContent, or come as HTML that the report's templates escaped.

const $ = (id) => document.getElementById(id);
// Without characters that change the reading direction of what stands beside it.
const DIRECTING = /[\u202a-\u202e\u2066-\u2069]/g;
const harmless = (text) => String(text).replace(DIRECTING, "\ufffd");
const quoted = (name) => JSON.stringify(name).replace(DIRECTING, (one) => `\\u${one.codePointAt(0).toString(16)}`);
const make = (tag, text = "", given = {}) => Object.assign(document.createElement(tag), { textContent: harmless(text) }, given);
// What is between backticks as code, the rest as text.
const prose = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", part) : harmless(part)));
const collator = new Intl.Collator(undefined, { numeric: true });
// Whole numbers as they are, others with so many digits.
const shown = (value, digits = 3) => (Number.isNaN(value) ? "–" : String(Number.isInteger(value) ? value : Number(value.toPrecision(digits))));
const fixed = (value, decimals) => (Number.isNaN(value) ? "–" : value.toFixed(decimals));

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
  const known = keyed.filter((one) => one.number !== null).sort((a, b) => a.number - b.number);
  const words = keyed.filter((one) => one.number === null).sort((a, b) => collator.compare(a.text, b.text));
  if (!ascending) (known.length ? known : words).reverse();
  body.append(...[...known, ...words].map((one) => one.row));
}

function makeSortable(table) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make("button", head.textContent, { type: "button" });
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
    const input = make("input", "", { className: "filter", type: "search", placeholder: "Filter rows" });
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

const FOLDED = "main > section > details:not(.filters)";
const folded = () => document.querySelectorAll(FOLDED);

// Before the browser scrolls there: what is below the place must have its height.
function unfold(hash) {
  const target = hash.length > 1 && !hash.includes("?") && $(hash.slice(1));
  const within = target && (target.closest("details") || target.querySelector(`${FOLDED}:not(#matrix)`));
  if (!within) return;
  within.open = true;
  target.scrollIntoView();
}

$("print")?.addEventListener("click", () => {
  document.body.classList.add("alone");
  print();
  document.body.classList.remove("alone");
});
$("unfold")?.addEventListener("click", () => folded().forEach((one) => { one.open = true; }));

// ---- on paper: a text that is open and its evidence alone, with prompts only where the reader has
// opened them; else all tables, and what is chosen

const chosenIn = (part) => [...part.querySelectorAll(".controls label:not([hidden], [hidden] *)")].flatMap((label) => {
  const control = label.querySelector("input, select");
  const value = control.selectedOptions ? control.selectedOptions[0]?.textContent : control.value;
  return value && value !== "all" ? [`${label.firstChild.textContent.trim().toLowerCase()} ${value}`] : [];
});
const unfolded = [];
addEventListener("beforeprint", () => {
  for (const line of document.querySelectorAll(".paper")) {
    line.textContent = harmless(`Shown here: ${chosenIn(line.parentElement).join("; ")}.`);
  }
  const within = document.querySelectorAll("#text-body :is(.judged details:not(:has(pre)), details:has(> .plain-text), .further, .all-scores)");
  unfolded.push(...[...($("text")?.open ? within : folded())].filter((one) => !one.open));
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of unfolded.splice(0)) one.open = false; });
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) unfold(link.hash);
});
addEventListener("hashchange", () => unfold(location.hash));
unfold(location.hash);

// ---- where the texts come from: the page itself, or `evaljudge view`

const data = JSON.parse($("data").textContent);

function fill(select, options) {
  const kept = select.value;
  select.replaceChildren(...options.map(([value, text]) => new Option(harmless(text), value)));
  if (options.some(([value]) => String(value) === kept)) select.value = kept;
}

// The judge of a scorer: `synthetic` of `synthetic.level` and `synthetic#2`.
const judgeOf = (scorer) => scorer.split(/[.#]/)[0];

// Scales to choose from: each judge's main score, with the same score calibrated, then what has one
// score alone, then other readings.
function fillScales(select, scales) {
  const judges = Map.groupBy(scales.map((scale, at) => ({ ...scale, at })), (one) => judgeOf(one.scorer));
  const [main, single, further] = [[], [], []];
  for (const [judge, own] of judges) {
    const first = own.find((one) => one.scorer === judge)?.scorer ?? own[0].scorer;
    const isMain = (one) => [first, `${first}.calibrated`].includes(one.scorer);
    if (own.length === 1) single.push(...own);
    else main.push([`${judge}: main score`, own.filter(isMain)]);
    further.push([`${judge}: other readings`, own.filter((one) => !isMain(one))]);
  }
  const optionOf = (one) => new Option(harmless(nameOf(one)), one.at);
  const groupOf = ([label, own]) => {
    const group = make("optgroup", "", { label: harmless(label) });
    group.append(...own.map(optionOf));
    return group;
  };
  const groups = (some) => some.filter(([, own]) => own.length).map(groupOf);
  select.replaceChildren(...groups(main), ...single.map(optionOf), ...groups(further));
}

function sayMeaning(line, scorer) {
  const said = data.meanings[scorer];
  line.textContent = said ? harmless(`${scorer}: ${said}`) : "";
  line.hidden = !said;
}

const nameOf = (scale) => (scale.axis === "*" ? scale.scorer : `${scale.scorer} · ${scale.axis}`);
const NUMBERS = { score: Float32Array, rating: Float32Array, doubt: Float32Array, other: Float32Array,
  disagreement: Float32Array, reason: Int16Array, system: Int16Array, selected: Uint8Array, flipped: Uint8Array };

// Texts that the page holds itself.
const embedded = {
  columns: new Map(),
  async names() { return data.texts.doc; },
  async column(name) {
    if (!this.columns.has(name)) {
      const [kind, ...numbers] = name.split(":");
      const given = numbers.reduce((columns, number) => columns?.[number], data.texts[kind]);
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

// The scale of the first screen's first answer, with which lists begin.
const leadIn = (scales) => Math.max(scales.findIndex((one) => one.scorer === data.lead?.scorer && one.axis === data.lead.axis), 0);

// ---- the list of texts

const PAGE = 50;
const list = { order: [], extent: 0, found: null, words: "", names: [], systems: null };

// The axis on which people's ratings stand beside a scorer's scores: its own; of a scorer without
// axes, the one that is chosen. -1 where nobody rated it.
function peopleAt(scorer) {
  const { axis } = data.scorers[scorer];
  return data.human.indexOf(axis === "*" ? $("by-people").value : axis);
}

// Which texts have the words of the search.
function searched() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.join(" ") !== list.words) {
    list.words = words.join(" ");
    list.found = words.length ? source.search(words) : null;
  }
  return list.found;
}

async function chosen() {
  const given = (id) => $(id).value;
  const scorer = Number(given("by-scorer"));
  const people = peopleAt(scorer);  // their ratings, and how far the scores are from them
  const columns = people < 0 ? [null, null] : [`rating:${people}`, `disagreement:${scorer}:${people}`];
  const [found, scores, reasons, ratings, apart, doubts, others] = await Promise.all([searched(),
    source.column(`score:${scorer}`), source.column(`reason:${scorer}`), ...columns.map((name) => name && source.column(name)),
    source.column(`doubt:${scorer}`), Promise.all(data.others.map((_, at) => source.column(`other:${scorer}:${at}`)))]);
  const tests = [];
  if (found) tests.push((row) => found[row]);
  if (given("by-system")) {
    const system = data.systems.indexOf(given("by-system"));
    tests.push((row) => list.systems[row] === system);
  }
  if (given("by-low") !== "") tests.push((row) => scores[row] >= Number(given("by-low")));
  if (given("by-high") !== "") tests.push((row) => scores[row] <= Number(given("by-high")));
  const status = given("by-status");
  if (status === "scored") tests.push((row) => !Number.isNaN(scores[row]));
  if (status === "unscored") tests.push((row) => reasons[row] >= 0);
  if (status.startsWith("reason:")) {
    tests.push((row) => reasons[row] >= 0 && kindOf(data.reasons[reasons[row]]) === status.slice(7));
  }
  const rated = given("by-rated");
  if (rated) tests.push((row) => (Boolean(ratings) && !Number.isNaN(ratings[row])) === (rated === "yes"));
  const [way, rule] = given("by-selected").split(/:(.*)/s);
  if (way) {
    const column = way === "flipped" ? await flipped([rule]) : await source.column(`selected:${data.selections.indexOf(rule)}`);
    tests.push((row) => Boolean(column[row]) === (way !== "no"));
  }
  const rows = [];
  for (let row = 0; row < list.names.length; row += 1) if (tests.every((test) => test(row))) rows.push(row);
  const compared = Math.max(...[scores, ...others].map(decimalsOf));
  const decimals = [compared, ...[ratings, apart, doubts].map((values) => values && decimalsOf(values)), ...others.map(() => compared)];
  Object.assign(list, { scorer, scores, reasons, ratings, apart, doubts, others, decimals });
  return rows;
}

// How many decimals a column is written with: none for whole numbers, else by their spread.
function decimalsOf(values) {
  let [low, high, isWhole] = [Infinity, -Infinity, true];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
    if (!Number.isNaN(value) && !Number.isInteger(value)) isWhole = false;
  }
  if (isWhole) return 0;
  return high - low > 1 || high === low ? 2 : Math.min(3 - Math.ceil(Math.log10(high - low)), 6);
}

// Of each text, whether one of these rules selects it in only one of two runs that have the rule.
async function flipped(rules) {
  const columns = await Promise.all(rules.flatMap((rule) => data.others.map(({ shared }, at) => (
    shared.includes(rule) ? source.column(`flipped:${data.selections.indexOf(rule)}:${at}`) : []))));
  return list.names.map((_, row) => columns.some((column) => column[row]));
}

async function sorted(rows) {
  const { scores, ratings, apart, doubts, others } = list;
  const order = $("sort").value;
  const rising = { low: scores, "doubt-low": doubts, "disagreement-low": apart, "people-low": ratings };
  const falling = { high: scores, doubt: doubts, disagreement: apart, "people-high": ratings };
  others.forEach((values, at) => { [rising[`other-low-${at}`], falling[`other-high-${at}`]] = [values, values]; });
  let values = rising[order] ?? falling[order]?.map((value) => -value);
  if (order === "threshold") values = scores.map((score) => Math.abs(score - threshold.value));
  if (order === "difference") {
    const flips = await flipped(data.selections);
    const farther = (most, apart) => (most >= apart || Number.isNaN(apart) ? most : apart);
    values = Float64Array.from(scores, (score, row) => (flips[row] ? -1e9 : 0)
      - others.map((values) => Math.abs(score - values[row])).reduce(farther, NaN));
  }
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
  sayMeaning($("meaning"), data.scorers[list.scorer].scorer);
  $("people").hidden = data.scorers[list.scorer].axis !== "*" || data.human.length < 2;
  const set = FILTERS.filter((id) => $(id).value !== defaultOf(id)).length;
  $("filters-set").textContent = set ? ` (${set} set)` : "";
  markHeads();
  data.others.forEach(sayDifference);
  drawMatrix();
  await showRows(0);
}

// Where a page holds a part of the run's texts.
function elsewhere() {
  const number = data.candidates.toLocaleString("en");
  return data.candidates > list.names.length ? `. The run has ${number} texts: \`evaljudge view\` shows them all` : "";
}

// The next rows of the list, from this place; from 0: in place of those that are shown.
async function showRows(from) {
  const mine = asked;
  const body = $("list").tBodies[0];
  const rows = list.order.slice(from, from + PAGE);
  $("list").setAttribute("aria-busy", "true");
  const begins = await source.begins(rows);
  if (mine !== asked) return;
  if (!from) body.replaceChildren();
  body.append(...rows.map((row, at) => line(row, begins[at])));
  list.extent = from + rows.length;
  const total = list.names.length;
  const none = list.order.length ? "" : " Nothing is found by this search and these filters.";
  $("count").replaceChildren(...prose(`${list.order.length.toLocaleString("en")} of ${total.toLocaleString("en")} texts${elsewhere()}.${none}`));
  $("more").hidden = list.order.length <= list.extent;
  $("clear").hidden = list.order.length > 0;
  $("list").setAttribute("aria-busy", "false");
}

const systemOf = (row) => data.systems[list.systems[row]];

function line(row, begins) {
  const link = make("a", list.names[row], { href: linkTo(row) });
  const head = make("th", "", { scope: "row" });
  head.append(link);
  const reason = list.reasons ? list.reasons[row] : -1;
  const [scores, ratings, apart, doubts, ...others] = [list.scores, list.ratings, list.apart, list.doubts, ...list.others]
    .map((values, at) => (values ? fixed(values[row], at === 1 && Number.isInteger(values[row]) ? 0 : list.decimals[at]) : "–"));
  const cells = [
    [data.short[list.systems[row]], "system"],
    reason >= 0 ? [`unscored: ${data.reasons[reason]}`, "reason"] : [scores, "number"],
    ...others.map((score, at) => [data.others[at].edited.includes(row) ? `${score} ≠` : score, "number"]),
    [ratings, "number"],
    ...(data.human.length ? [[apart, "number wide"]] : []),
    [doubts, "number"],
    [begins],
  ].map(([text, className = ""]) => make("td", text, { className }));
  cells[0].title = harmless(systemOf(row));
  if (reason >= 0) cells[1].title = harmless(data.reasons[reason]);
  const made = make("tr");
  made.append(head, ...cells);
  made.addEventListener("click", (event) => { if (!event.target.closest("a")) location.hash = link.hash; });
  return made;
}

// ---- the matrix of documents and systems: how far each score is from what its document and its
// system suggest; documents with the farthest score come first

const MOST_DOCUMENTS = 30;

function drawMatrix() {
  $("matrix").hidden = Boolean(elsewhere()); // of some texts the means would say little
  if ($("matrix").hidden || !$("matrix").open || !list.scores) return;  // it is drawn once they are there
  const wanted = new Set(list.order);
  const scored = [...list.names.keys()].filter((row) => !Number.isNaN(list.scores[row]));
  const byDocument = Map.groupBy(scored, (row) => list.names[row]);
  const bySystem = Map.groupBy(scored, (row) => list.systems[row]);
  const meanIn = (rows) => rows.reduce((sum, row) => sum + list.scores[row], 0) / rows.length;
  const means = new Map([...bySystem].map(([system, rows]) => [system, meanIn(rows)]));
  const all = [...byDocument].map(([doc, rows]) => {
    const beyond = rows.map((row) => list.scores[row] - means.get(list.systems[row]));
    const own = rows.length > 1 ? beyond.reduce((sum, one) => sum + one, 0) / rows.length : 0; // of one text, who knows?
    const distances = beyond.map((one) => one - own);
    const cells = rows.map((row, at) => [list.systems[row], [row, distances[at]]]).filter(([, [row]]) => wanted.has(row));
    return { doc, apart: new Map(cells), most: Math.max(...cells.map(([, [, one]]) => Math.abs(one))), squares: distances.reduce((sum, one) => sum + one * one, 0) };
  }).sort((a, b) => b.most - a.most);
  const spread = Math.sqrt(all.reduce((sum, one) => sum + one.squares, 0) / scored.length) || 1;
  const lines = all.filter(({ apart }) => apart.size);
  const systems = [...new Set(lines.flatMap(({ apart }) => [...apart.keys()]))].sort((a, b) => means.get(b) - means.get(a));
  const body = lines.slice(0, MOST_DOCUMENTS).map(({ doc, apart }) => {
    const made = make("tr");
    made.append(make("th", doc, { scope: "row" }), ...systems.map((system) => {
      const [row, distance] = apart.get(system) ?? [-1, 0];
      if (row < 0) return make("td", "–", { className: "number" });
      const cell = make("td", "", { className: `number ${distance < 0 ? "minus" : "plus"}${Math.min(9, Math.round(3 * Math.abs(distance) / spread))}` });
      const title = `${shown(Math.abs(distance))} ${distance < 0 ? "below" : "above"} what its document and its system suggest`;
      cell.append(make("a", fixed(list.scores[row], list.decimals[0]), { href: linkTo(row), title }));
      return cell;
    }));
    return made;
  });
  const which = harmless(`${nameOf(data.scorers[list.scorer])}: ${body.length.toLocaleString("en")} of ${lines.length.toLocaleString("en")} documents of the list, those with the oddest score first`);
  $("matrix-of").replaceChildren(`${which}.`);
  const table = $("matrix").querySelector("table");
  table.tHead.rows[0].replaceChildren(make("th", "document", { scope: "col" }),
    ...systems.map((system) => make("th", data.short[system], { scope: "col", title: harmless(data.systems[system]) })));
  table.tBodies[0].replaceChildren(...body);
}

// ---- heads that sort the list, as Order does

const sortHeads = () => [...document.querySelectorAll("#list th[data-orders]")];

function markHeads() {
  for (const head of sortHeads()) {
    const place = head.dataset.orders.split(" ").indexOf($("sort").value);
    if (place < 0) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", place ? "ascending" : "descending");
  }
}

function beginHeads() {
  for (const head of sortHeads()) {
    const [falling, rising] = head.dataset.orders.split(" ");
    head.querySelector("button").addEventListener("click", () => {
      $("sort").value = $("sort").value === falling ? rising : falling;
      changed();
    });
  }
}

// ---- the list's address: #texts?scorer=…&axis=…&system=…, what is not as at the start

const CONTROLS = { system: "by-system", from: "by-low", to: "by-high", status: "by-status",
  rated: "by-rated", selected: "by-selected", people: "by-people", sort: "sort", search: "search" };
const CALLED = { from: "score", to: "score", rated: "choice", selected: "selection", people: "rated axis", sort: "order", search: "word" };
const FILTERS = ["by-system", "by-low", "by-high", "by-status", "by-rated", "by-selected"];
const OF_THE_RUN = ["system", "status", "selected", "people"];
const defaultOf = (id) => list.defaults[Object.keys(CONTROLS).find((name) => CONTROLS[name] === id)];
const asGiven = (hash) => new URLSearchParams(hash.split(/\?(.*)/s)[1]);

const isAt = (part) => new RegExp(`^#${part}(\\?|$)`).test(location.hash);

function address(part = isAt("thresholds") ? "thresholds" : "texts") {
  const given = new URLSearchParams(Number($("by-scorer").value) === leadIn(data.scorers) ? {} : data.scorers[$("by-scorer").value]);
  for (const [name, id] of Object.entries(CONTROLS)) {
    if ($(id).value !== list.defaults[name]) given.set(name, $(id).value);
  }
  if ($("matrix").open) given.set("matrix", "open");
  if (threshold.isSet) {
    given.set("cut", $("threshold-at").value);
    given.set("of", nameOf(threshold.spread));
    for (const name of ["axis", "good"]) given.set(`cut-${name}`, $(`threshold-${name}`).value);
  }
  return String(given) ? `#${part}?${given}` : `#${part}`;
}

const keepAddress = (part) => { if (opened() === null) history.replaceState(null, "", address(part)); };

// The controls as an address has them; what the run does not have is said above the list.
function setControls(given) {
  const where = data.token ? "in this run" : "on this page";
  const unknown = [];
  const scale = scaleIn(given);
  if (scale < 0) {
    const { scorer } = data.scorers.find((one) => one.scorer === given.get("scorer")) || {};
    unknown.push(scorer ? `There is no axis '${given.get("axis")}' of ${scorer} ${where}.`
      : `There is no ${["scorer", "axis"].filter((name) => given.has(name)).map((name) => `${name} '${given.get(name)}'`).join(" on ")} ${where}.`);
  }
  $("by-scorer").value = Math.max(scale, 0);
  for (const [name, id] of Object.entries(CONTROLS)) {
    const wanted = given.get(name) ?? list.defaults[name];
    $(id).value = wanted;
    if ($(id).value === wanted) continue;
    $(id).value = list.defaults[name];
    unknown.push(`There is no ${CALLED[name] || name} '${wanted}'${OF_THE_RUN.includes(name) ? ` ${where}` : ""}.`);
  }
  $("matrix").open = given.has("matrix");
  const known = [...Object.keys(CONTROLS), "scorer", "axis", "matrix", "cut", "of", "cut-axis", "cut-good"];
  unknown.push(...[...given.keys()].filter((name) => !known.includes(name)).map((name) => `The list has no filter '${name}'.`));
  if (given.has("cut") || $("sort").value === "threshold") setThreshold(given);
  $("unknown").textContent = harmless(unknown.join(" "));
  $("unknown").hidden = !unknown.length;
}

// As an address has it; where the list is ordered by nearness to it, its scorer is the list's.
function setThreshold(given) {
  const scale = nameOf(data.scorers[$("by-scorer").value]);
  const wanted = $("sort").value === "threshold" ? scale : given.get("of") ?? scale;
  const at = data.spreads.findIndex((one) => nameOf(one) === wanted);
  if (at < 0) { $("sort").value = list.defaults.sort; return; }
  if ($("threshold-scorer").value !== String(at)) {
    $("threshold-scorer").value = at;
    threshold.choose();
  }
  if (given.has("cut-axis") && given.get("of") === wanted) {
    $("threshold-axis").value = given.get("cut-axis");
    threshold.chooseGood();
    $("threshold-good").value = given.get("cut-good");
  }
  threshold.isSet = true;
  if (given.has("cut")) $("threshold-at").value = given.get("cut");
  threshold.move();
}

// The place of a link's scorer and axis; the first where it names none, -1 where there is none such.
function scaleIn(given) {
  if (!given.has("scorer") && !given.has("axis")) return leadIn(data.scorers);
  return data.scorers.findIndex((one) => ["scorer", "axis"].every((name) => !given.has(name) || given.get(name) === one[name]));
}

async function clearFilters() {
  for (const id of [...FILTERS, "search"]) $(id).value = defaultOf(id);
  await changed();
  $("search").focus();
}

// By nearness to the threshold, the list has the threshold's scorer.
function followThreshold() {
  const { scorer, axis } = threshold.spread;
  $("by-scorer").value = data.scorers.findIndex((one) => one.scorer === scorer && one.axis === axis);
}

async function changed(event) {
  if ($("sort").value === "threshold") {
    if (event?.target.id === "by-scorer") $("sort").value = list.defaults.sort;
    else followThreshold();
  }
  if (event?.target.id === "by-scorer") $("by-low").value = $("by-high").value = "";  // of another scale
  $("unknown").hidden = true;
  keepAddress("texts");
  await refresh();
}

// Of an address that names no part of the page.
function sayNoPart() {
  const part = location.hash.slice(1).split("?")[0];
  if (!part || $(part)) return;
  $("unknown").textContent = harmless(`There is no part '${part}' on this page.`);
  $("unknown").hidden = false;
  $("unknown").scrollIntoView({ block: "center" });
}

async function openList(isClicked) {
  $("unknown").hidden = true;
  sayNoPart();
  if (!isAt("texts") && !isAt("thresholds")) return;
  if (String(asGiven(location.hash)) !== String(asGiven(address()))) {
    setControls(asGiven(location.hash));
    history.replaceState(null, "", address());
    await refresh();
  } else if (!isClicked) return;
  $(isAt("texts") ? "texts" : "thresholds").scrollIntoView();
}

// ---- what differs from other runs

function sayDifference({ differ, otherwise }, at) {
  const name = nameOf(data.scorers[list.scorer]);
  const n = differ[list.scorer];
  const said = differ.every((one) => one === 0) ? "No score differs between the two runs."
    : n === null ? `The other run has no scorer ${name}, so nothing is compared by it.`
      : `${n.toLocaleString("en")} ${n === 1 ? "score" : "scores"} of ${name} ${n === 1 ? "differs" : "differ"}.`;
  const how = otherwise[data.scorers[list.scorer].scorer];
  $("difference").querySelectorAll("span")[at].replaceChildren(...prose(said + (how
    ? ` The other run makes ${name} in another way, so the two scores may be on different scales: ${how}` : "")));
}

async function beginComparison() {
  for (const rule of data.selections) {
    const n = (await flipped([rule])).filter(Boolean).length;
    if (!n) continue;
    const said = `${n.toLocaleString("en")} ${n === 1 ? "text is" : "texts are"} selected by only one run`;
    const href = `#texts?${new URLSearchParams({ selected: `flipped:${rule}` })}`;
    const item = make("li");
    item.append(make("a", said, { href }), harmless(` (rule ${rule})`));
    $("compared").append(item);
  }
  for (const { changed: rules, name } of data.others) {
    $("compared").append(...rules.map((rule) => make("li", `The rule ${rule} is another in ${name}, so texts are not compared by it.`)));
  }
}

// ---- one text, opened by its link

function linkTo(row, scale = data.scorers[list.scorer]) {
  return `#text?${new URLSearchParams({ doc: list.names[row], system: systemOf(row), ...scale })}`;
}

const TITLE = document.title;
const opened = () => (location.hash.startsWith("#text?") ? asGiven(location.hash) : null);

const notThere = () => (data.token ? "The run has no such text."
  : `This text is not among the ${list.names.length} texts of this page: \`evaljudge view\` shows all texts of the run.`);

async function openText() {
  const given = opened();
  const dialog = $("text");
  if (given === null) { if (dialog.open) dialog.close(); return; }
  const hash = location.hash;
  const [doc, system] = [given.get("doc"), data.systems.indexOf(given.get("system"))];
  const row = list.names.findIndex((name, at) => name === doc && list.systems[at] === system);
  let [said, body] = [row < 0 ? prose(notThere()) : [harmless(`${list.names[row]} · ${systemOf(row)}`)], []];
  try {
    if (row >= 0) body = [await source.body(row)];
  } catch (error) {
    said = prose(failure(error));
  }
  if (location.hash !== hash) return;  // another text has been asked for meanwhile
  $("text-name").replaceChildren(...said);
  $("text-body").replaceChildren(...body);
  document.title = `${$("text-name").textContent} – ${TITLE}`;
  list.opened = row;
  const scale = data.scorers[Math.max(scaleIn(given), 0)];
  if (row >= 0) $("text-body").querySelector(".headline").after(otherSystems(row, scale));
  for (const run of [$("text-body"), ...$("text-body").querySelectorAll(".beside")]) putFirst(run, scale);
  $("text-body").querySelectorAll("table").forEach(makeSortable);
  const at = list.order.indexOf(row);
  for (const [id, other] of [["previous", at - 1], ["next", at + 1]]) {
    const target = at < 0 ? undefined : list.order[other];
    $(id).disabled = target === undefined;
    $(id).dataset.to = target === undefined ? "" : linkTo(target, scale);
  }
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

// Links to what other systems wrote for the document.
function otherSystems(row, scale) {
  const made = make("p", "", { className: "soft" });
  list.names.forEach((name, other) => {
    if (name !== list.names[row] || other === row) return;
    const link = make("a", systemOf(other), { href: linkTo(other, scale) });
    made.append(made.childNodes.length ? ", " : "Other systems: ", link);
  });
  return made;
}

// Of one run's view of a text: the chosen score, what it means, and its evidence come first.
function putFirst(run, scale) {
  const judged = [...run.querySelectorAll(":scope > .judged")];
  const isOfAxis = (one) => one.dataset.axis === scale.axis;
  const isOfScore = (one) => one.dataset.judge === judgeOf(scale.scorer) && (isOfAxis(one) || one.dataset.axis === "*");
  if (judged.length) {
    judged[0].before(...judged.filter(isOfScore), ...judged.filter((one) => isOfAxis(one) && !isOfScore(one)));
  }
  const elsewhere = scale.axis === "*" ? [] : judged.filter((one) => !isOfAxis(one) && one.dataset.axis !== "*");
  if (elsewhere.length && elsewhere.length < judged.length) {
    const folded = make("details", "", { className: "further" });
    elsewhere[0].before(folded);
    folded.append(make("summary", `Evidence on other axes (${elsewhere.length})`), ...elsewhere);
  }
  const rows = [...run.querySelectorAll(":scope > .all-scores tr")];
  const cellOf = (row) => row && [...row.cells].find(isOfAxis);
  const score = cellOf(rows.find((row) => row.dataset.scorer === scale.scorer));
  const rated = rows.find((row) => row.className === "people");
  const people = rated && [...rated.cells].find((one) => one.dataset.axis === data.human[peopleAt(data.scorers.indexOf(scale))]);
  const said = make("p", `${nameOf(scale)}: `);
  said.append(make("strong", score?.textContent.trim() || "not scored"));
  const on = scale.axis === "*" ? ` on ${people?.dataset.axis}` : "";
  if (people && people.textContent !== "–") said.append(harmless(`; rating${on}: `), make("strong", people.textContent));
  const meaning = make("p", "", { className: "soft meaning", hidden: true });
  if (!run.matches(".beside")) sayMeaning(meaning, scale.scorer);  // another run may have another scale
  run.querySelector(":scope > .headline")?.replaceChildren(said, meaning);
  for (const row of rows) if (cellOf(row)) row.cells[0].after(cellOf(row));
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

// The place, from 0, with the least distance; the last of equals.
function nearestPlace(n, apart) {
  let found = 0;
  for (let at = 1; at < n; at += 1) if (apart(at) <= apart(found)) found = at;
  return found;
}

// How many of these texts, counted by bin and rating, are kept.
const total = (counts, keep = () => true) => counts.reduce((sum, [bin, rating, n]) => sum + (keep(bin, rating) ? n : 0), 0);

const threshold = {
  value: 0,
  isSet: false,  // by the reader or a link, so that the address has it
  isMoved: false,  // since the address was written
  get spread() { return data.spreads[Number($("threshold-scorer").value)]; },
  get met() { return this.spread.people[Number($("threshold-axis").value)]; },

  choose() {
    const people = this.spread.people;
    fill($("threshold-axis"), people.map((one, at) => [at, `rated on ${one.axis}`]));
    $("threshold-people").hidden = !people.length;
    $("threshold-shares").hidden = !people.length;
    sayMeaning($("threshold-meaning"), this.spread.scorer);
    this.chooseGood();
    $("threshold-at").value = this.startingBin();
    this.move();
  },

  // Where about as many texts are selected as are good; without ratings, half of them.
  startingBin() {
    const counts = this.met ? this.met.counts : this.spread.counts.map((n, bin) => [bin, 0, n]);
    const good = Number($("threshold-good").value);
    const wanted = this.met ? total(counts, (_, rating) => rating >= good) : total(counts) / 2;
    return nearestPlace(data.bins, (at) => Math.abs(total(counts, (bin) => bin >= at) - wanted));
  },

  chooseGood() {
    const { met } = this;
    if (met) {
      fill($("threshold-good"), met.ratings.map((rating, at) => [at, `at least ${shown(rating)}`]));
      const goodAt = (at) => total(met.counts, (_, rating) => rating >= at);
      $("threshold-good").value = nearestPlace(met.ratings.length, (at) => Math.abs(2 * goodAt(at) - total(met.counts)));
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
    if (this.met) {
      const { counts } = this.met;
      const good = Number($("threshold-good").value);
      const hits = total(counts, (at, rating) => at >= bin && rating >= good);
      const chosen = total(counts, (at) => at >= bin);
      const goods = total(counts, (_, rating) => rating >= good);
      $("threshold-precision").textContent = `${share(hits, chosen)} of the ${chosen.toLocaleString("en")} rated texts selected are good (precision)`;
      $("threshold-recall").textContent = `${share(hits, goods)} of the ${goods.toLocaleString("en")} good texts are selected (recall, of the texts that have a score)`;
    }
    // Rounded down, so that what is printed selects no text fewer.
    const rounded = this.value.toPrecision(6);
    const printed = Number(rounded) <= this.value ? rounded : String(this.value);
    $("threshold-line").textContent = `- {name: chosen, all: [{scorer: ${quoted(one.scorer)}, axis: ${quoted(one.axis)}, at_least: ${printed}}]}`;
    $("threshold-copy").textContent = "Copy";
    if (list.systems) this.borderline();
  },

  // Once the slider rests.
  borderline: later(100, async () => {
    const { value, spread } = threshold;
    if ($("sort").value === "threshold") followThreshold();
    if (threshold.isMoved) keepAddress($("sort").value === "threshold" ? "texts" : "thresholds");
    threshold.isMoved = false;
    if ($("sort").value === "threshold") refresh();
    const at = data.scorers.findIndex((scale) => scale.scorer === spread.scorer && scale.axis === spread.axis);
    const scores = await source.column(`score:${at}`);
    const nearest = nearestTo(value, scores);
    const begins = await source.begins(nearest);
    if (value !== threshold.value) return;  // the slider has moved on
    $("borderline").replaceChildren(...nearest.map((row, place) => {
      const link = make("a", `${list.names[row]} · ${systemOf(row)}`, { href: linkTo(row, data.scorers[at]) });
      const item = make("li", `${shown(scores[row], 4)} `);
      item.append(link, ` ${begins[place]}`);
      return item;
    }));
  }),
};

// ---- what is put together at the start

function beginThreshold() {
  fillScales($("threshold-scorer"), data.spreads);
  $("threshold-at").max = data.bins - 1;
  $("threshold-scorer").value = leadIn(data.spreads);
  const moves = { scorer: () => threshold.choose(), axis: () => threshold.chooseGood(), good: () => threshold.move(), at: () => threshold.move() };
  for (const [name, move] of Object.entries(moves)) {
    $(`threshold-${name}`).addEventListener("input", () => {
      threshold.isSet = threshold.isMoved = true;
      move();
    });
  }
  $("threshold-copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText($("threshold-line").textContent);
    $("threshold-copy").textContent = "Copied";
  });
  threshold.choose();
}

/* Reasons that differ in numbers or in what was said are one filter. */
function kindOf(reason) {
  return reason.replace(/“.*”/s, "“…”").replace(/\d[\d,.]*\d|\d/g, "…");
}

async function beginTexts() {
  [list.names, list.systems] = await Promise.all([source.names(), source.column("system")]);
  fillScales($("by-scorer"), data.scorers);
  fill($("by-people"), data.human.map((axis) => [axis, axis]));
  fill($("by-system"), [["", "all"], ...data.systems.map((name) => [name, name])]);
  fill($("by-status"), [["", "all"], ["scored", "scored"], ["unscored", "unscored"],
    ...[...new Set(data.reasons.map(kindOf))].map((kind) => [`reason:${kind}`, `unscored: ${kind}`])]);
  fill($("by-selected"), [["", "all"], ...data.selections.flatMap((name) => [
    [`yes:${name}`, `selected by ${name}`], [`no:${name}`, `not selected by ${name}`],
    ...(data.others.some(({ shared }) => shared.includes(name)) ? [[`flipped:${name}`, `${name}: only one of two runs selects it`]] : [])])]);
  list.defaults = Object.fromEntries(Object.entries(CONTROLS).map(([name, id]) => [name, $(id).value]));
  for (const id of ["by-scorer", ...Object.values(CONTROLS)]) {
    $(id).addEventListener("input", id === "search" ? later(150, changed) : changed);
  }
  $("search").addEventListener("input", () => $("list").setAttribute("aria-busy", "true"));
  const narrow = matchMedia("(max-width: 34rem)");
  const foldFilters = () => { document.querySelector(".filters").open = !narrow.matches; };
  foldFilters();
  narrow.addEventListener("change", foldFilters);
  $("clear").addEventListener("click", clearFilters);
  $("matrix").addEventListener("toggle", () => {
    drawMatrix();
    if (isAt("texts") || !location.hash) keepAddress();
  });
  beginHeads();
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
    document.title = TITLE;
    if (opened() !== null) history.replaceState(null, "", address());
    const { rows } = $("list").tBodies[0];  // after a reload, nothing had the focus
    if (document.activeElement.matches("body, #text *")) (rows[list.order.indexOf(list.opened)] ?? rows[0])?.querySelector("a").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (!$("text").open || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, pre, .scroll, .scrolling")) return;  // they scroll by keys
    const id = { ArrowLeft: "previous", k: "previous", ArrowRight: "next", j: "next" }[event.key];
    if (id && !$(id).disabled) $(id).click();
  });
  window.addEventListener("hashchange", () => { openText(); openList(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#texts"], a[href="#thresholds"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const hash = link.closest("nav") ? address(link.hash.slice(1)) : link.hash;  // by the page's menu it stays as it is
    if (hash !== location.hash) history.pushState(null, "", hash);
    openList(true);
  });
  setControls(startOf(location.hash));
  sayNoPart();
  const isOfList = /^#(texts|thresholds)\?/.test(location.hash);
  if (isOfList) history.replaceState(null, "", address());
  await refresh();
  await openText();
  if (isOfList) $(isAt("thresholds") ? "thresholds" : $("matrix").open && !$("matrix").hidden ? "matrix" : "texts").scrollIntoView();
  beginComparison();
  if (data.spreads.length) threshold.move();
}

// What an address asks of the list when the page is opened; of a text's, its scorer alone.
function startOf(hash) {
  const given = asGiven(hash);
  if (hash.startsWith("#text?")) {
    for (const name of [...given.keys()]) if (!["scorer", "axis"].includes(name)) given.delete(name);
  }
  return /^#(text|thresholds)/.test(hash) ? given : new URLSearchParams();
}

const failure = (error) => (error instanceof TypeError && data.token
  ? "The server does not answer: start `evaljudge view` again, and open its new link."
  : error.message);

// What a server that has ended, or a damaged file of the run, leaves undone is said above the list.
addEventListener("unhandledrejection", (event) => {
  $("count").replaceChildren(...prose(failure(event.reason)));
  $("list").setAttribute("aria-busy", "false");
});

if (data.spreads.length) beginThreshold();
if (data.scorers) beginTexts();
