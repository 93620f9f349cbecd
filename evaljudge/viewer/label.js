"use strict";
// One text after another, rated without its system and its scores. Texts are set as textContent.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
let at = 0;

const isDone = (text) => data.axes.every((axis) => text.ratings[axis.name] !== null && text.ratings[axis.name] !== undefined);

function progress() {
  const done = data.texts.filter(isDone).length;
  $("progress").textContent = `Text ${at + 1} of ${data.texts.length}; ${done} are rated. Ratings are saved as ${data.rater}’s in ${data.file}.`;
}

function show(to) {
  at = Math.min(Math.max(to, 0), data.texts.length - 1);
  const one = data.texts[at];
  $("text").textContent = one.text;
  $("source").textContent = one.source;
  $("context").textContent = one.context;
  $("has-context").hidden = !one.context;
  $("previous").disabled = at === 0;
  $("next").disabled = at === data.texts.length - 1;
  $("ratings").replaceChildren(...data.axes.map((axis) => group(axis, one)));
  $("problem").textContent = "";
  progress();
  scrollTo(0, 0);
  $("ratings").querySelector("input").focus({ preventScroll: true });
}

function group(axis, one) {
  const made = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = axis.about ? `${axis.shown}: ${axis.about}` : axis.shown;
  made.append(legend, ...data.values.map((value) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: `axis ${axis.name}`, value, checked: one.ratings[axis.name] === value });
    input.addEventListener("change", () => rate(axis, one, value));
    label.append(input, ` ${value} `);
    return label;
  }));
  return made;
}

async function rate(axis, one, value) {
  const answer = await fetch("rate", {
    method: "POST",
    headers: { "X-Evaljudge-Token": data.token, "Content-Type": "application/json" },
    body: JSON.stringify({ label: one.label, ratings: { [axis.name]: value } }),
  }).catch(() => null);
  if (answer !== null && answer.ok) one.ratings[axis.name] = value;
  $("problem").textContent = answer === null ? "The server does not answer: start `evaljudge view` again, and rate this text once more."
    : answer.ok ? "" : await answer.text();
  progress();
}

$("previous").addEventListener("click", () => show(at - 1));
$("next").addEventListener("click", () => show(at + 1));
$("open").addEventListener("click", () => {
  const ahead = [...data.texts.keys()].map((step) => (at + 1 + step) % data.texts.length);
  const found = ahead.find((place) => !isDone(data.texts[place]));
  if (found !== undefined) show(found);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") show(at + 1);
  if (event.key === "p") show(at - 1);
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step) {  // else the browser would take another rating of the axis
    event.preventDefault();
    show(at + step);
  }
  const value = Number(event.key);
  const focused = document.activeElement.closest("fieldset");
  if (!focused || !data.values.includes(value)) return;
  const input = [...focused.querySelectorAll("input")].find((one) => Number(one.value) === value);
  input.checked = true;
  input.dispatchEvent(new Event("change"));
  const next = focused.nextElementSibling;
  if (next) next.querySelector("input").focus({ preventScroll: true });
  else $("next").focus({ preventScroll: true });
});

show(Math.max(data.texts.findIndex((one) => !isDone(one)), 0));
