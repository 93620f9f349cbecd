"use strict";
// One text after another, rated without its system and its scores. Texts are set as textContent.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const NONE = "–";  // the choice that is no rating
let at = 0;
let saving = Promise.resolve();
let [isTyped, pause] = [false, 0];  // whether a note is not saved yet; it is, at a pause in typing

const make = (tag, text, given = {}) => Object.assign(document.createElement(tag), { textContent: text }, given);
const ratingOf = (text, axis) => text.ratings[axis.name] ?? null;
const isDone = (text) => data.axes.every((axis) => ratingOf(text, axis) !== null);
const counted = (n) => (n === 1 ? "1 text" : `${n.toLocaleString("en")} texts`);

// The next text that is not rated on every axis, from the one shown on, and from the first again.
function nextOpen() {
  const ahead = data.texts.slice(1).map((_, step) => (at + 1 + step) % data.texts.length);
  return ahead.find((place) => !isDone(data.texts[place]));
}

function progress() {
  const all = data.texts.length;
  const open = data.texts.filter((text) => !isDone(text)).length;
  $("progress").textContent = `Text ${at + 1} of ${all}; ${all - open} ${all - open === 1 ? "is" : "are"} rated on every axis.`;
  $("open").disabled = nextOpen() === undefined;
  $("all-rated").hidden = open > 0;
  $("end").textContent = open === 0 ? `${all === 1 ? "The text is" : `All ${counted(all)} are`} rated on every axis. The ratings are in ${data.place}.`
    : at === all - 1 ? `This is the last text. ${counted(open)} of ${all} ${open === 1 ? "is" : "are"} not rated on every axis yet.` : "";
}

function show(to) {
  keepNote();
  at = Math.min(Math.max(to, 0), data.texts.length - 1);
  const one = data.texts[at];
  for (const part of ["text", "source", "context"]) Object.assign($(part), { textContent: one[part], dir: one.directions[part] });
  for (const part of ["source", "context"]) $(`has-${part}`).hidden = !one[part];
  $("previous").disabled = at === 0;
  $("next").disabled = at === data.texts.length - 1;
  $("ratings").replaceChildren(...data.axes.map((axis, place) => group(axis, place, one)));
  $("note").value = one.note ?? one.ratings.note ?? "";
  $("problem").textContent = "";
  progress();
  scrollTo(0, 0);
  for (const panel of ["text-panel", "beside-panel", "rate"]) $(panel).scrollTop = 0;
  const first = data.axes.findIndex((axis) => ratingOf(one, axis) === null);
  focusOn($("ratings").children[Math.max(first, 0)]);
}

const focusOn = (fieldset) => (fieldset.querySelector("input:checked") ?? fieldset.querySelector("input")).focus({ preventScroll: true });

function group(axis, place, one) {
  const made = make("fieldset", "");
  const values = make("div", "", { className: "values" });
  values.append(...[null, ...data.values].map((value) => {
    const label = make("label", "");
    const input = make("input", "", { type: "radio", name: `axis ${place}`, value: value ?? "", checked: ratingOf(one, axis) === value });
    input.setAttribute("aria-label", value ?? "no rating");
    input.addEventListener("change", () => rate(axis, one, value));
    label.append(input, value ?? NONE);
    return label;
  }));
  made.append(make("legend", axis.shown), ...(axis.about ? help(axis, place) : []), values);
  return made;
}

// What the axis means, folded.
function help(axis, place) {
  const about = make("p", axis.about, { id: `about-${place}`, className: "soft about", hidden: true });
  const button = make("button", "?", { type: "button", ariaLabel: `What ${axis.shown} means`, ariaExpanded: "false" });
  button.setAttribute("aria-controls", about.id);
  button.addEventListener("click", () => {
    about.hidden = !about.hidden;
    button.ariaExpanded = String(!about.hidden);
  });
  return [button, about];
}

// One after another, so that the last rating given is the one that stays.
function rate(axis, one, value) {
  saving = saving.then(() => save(axis, one, value));
}

async function save(axis, one, value) {
  const answer = await fetch("rate", {
    method: "POST",
    keepalive: true,  // also when the page is closed
    headers: { "X-Evaljudge-Token": data.token, "Content-Type": "application/json" },
    body: JSON.stringify({ label: one.label, ratings: { [axis.name]: value }, before: { [axis.name]: ratingOf(one, axis) } }),
  }).catch(() => null);
  const isSaved = answer !== null && answer.ok;
  if (isSaved) one.ratings[axis.name] = value;
  else if (data.texts[at] === one && axis.name !== "note") show(at);  // with what is saved
  const text = `Text ${data.texts.indexOf(one) + 1}`;
  const unsaved = `${text} is not saved on ${axis.shown}:`;
  $("problem").textContent = answer === null ? `${unsaved} the server does not answer. Start \`evaljudge view\` again, open its new link, and rate this text once more.`
    : isSaved ? replaced(text, axis, (await answer.json()).replaced[axis.name], value) : `${unsaved} ${await answer.text()}`;
  progress();
}

// What somebody else has saved under the same name since this page was opened.
function replaced(text, axis, other, value) {
  if (other === undefined) return "";
  return `${text} was rated ${other} on ${axis.shown} elsewhere, as ${data.rater}’s: ${value === null ? "this rating is taken away" : `${value} takes its place`}.`;
}

function choose(fieldset, value) {
  const input = [...fieldset.querySelectorAll("input")].find((one) => one.value === value);
  input.checked = true;
  input.dispatchEvent(new Event("change"));
  input.focus({ preventScroll: true });
  if (!value) return;
  if (fieldset.nextElementSibling) focusOn(fieldset.nextElementSibling);
  else $(at === data.texts.length - 1 ? "open" : "next").focus({ preventScroll: true });
}

const openNext = () => { if (nextOpen() !== undefined) show(nextOpen()); };
$("previous").addEventListener("click", () => show(at - 1));
$("next").addEventListener("click", () => show(at + 1));
$("open").addEventListener("click", openNext);
const keepNote = () => {
  clearTimeout(pause);
  const [one, note] = [data.texts[at], $("note").value.trim()];
  if (isTyped || (one.note !== undefined && note !== (one.ratings.note ?? "")))  // not kept yet, or not saved
    rate({ name: "note", shown: "its note" }, one, (one.note = note) || null);
  isTyped = false;
};
$("note").addEventListener("change", keepNote);
$("note").addEventListener("input", () => {
  clearTimeout(pause);
  isTyped = true;
  pause = setTimeout(keepNote, 1000);
});
addEventListener("pagehide", keepNote);
$("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(data.line);
  $("copy").textContent = "Copied";
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.id === "note") return;
  const fieldset = document.activeElement.closest("fieldset");
  const value = ["0", "Backspace", "Delete"].includes(event.key) ? "" : event.key;
  const key = {
    n: () => show(at + 1), ArrowRight: () => show(at + 1),
    p: () => show(at - 1), ArrowLeft: () => show(at - 1),
    u: openNext,
    ...(fieldset && {
      ArrowDown: () => focusOn(fieldset.nextElementSibling ?? fieldset),
      ArrowUp: () => focusOn(fieldset.previousElementSibling ?? fieldset),
      "?": () => fieldset.querySelector("button")?.click(),
    }),
    ...(fieldset && ["", ...data.values.map(String)].includes(value) && { [event.key]: () => choose(fieldset, value) }),
  }[event.key];
  if (!key) return;
  event.preventDefault();  // else an arrow would choose another rating
  key();
});

$("rater").textContent = data.rater;
$("file").textContent = data.place;
$("line").textContent = data.line;
// On a phone, what is beside the text would push the ratings away.
for (const part of ["has-source", "has-context"]) $(part).open = matchMedia("(min-width: 60rem)").matches;
show(Math.max(data.texts.findIndex((one) => !isDone(one)), 0));
